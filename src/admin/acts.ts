/** Records what operators do, in the log and in the audit trail. The response waits until the line of the trail is committed. */
import type { OperatorEvent } from '../domain/audit/operator-acts.ts'
import type { AuditEvent } from '../domain/model/deps.ts'
import type { Operator } from '../domain/model/records.ts'
import type { Admin } from './admin.ts'

/** Call this after the change. `event` is the act, such as `client_created`. */
export function recordAct({ deps }: Pick<Admin, 'deps'>, operator: Operator, event: AuditEvent & { event: OperatorEvent }): void {
  deps.audit({ ...event, operator: operator.id })
}
