/** The events of the trail itself. */
import type { AuditEventName } from '../model/audit-events.ts'

/** A signed head of the chain, in `details.head`. */
export const HEAD_SIGNED = 'audit_head_signed' satisfies AuditEventName

/** Lines were removed or changed while they waited outside of the chain, before the line with this event. */
export const BATCH_CHANGED = 'audit_waiting_changed' satisfies AuditEventName

/** Lines were deleted because of their age; `details.through` is the last of them, and `details.hash` its hash. */
export const LINES_DELETED = 'audit_lines_deleted' satisfies AuditEventName
