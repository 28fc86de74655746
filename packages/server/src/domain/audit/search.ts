/** Searches of the trail. */
import type { AuditFilter, AuditLine, AuditPage, AuditStore } from '../model/audit-store.ts'
import { textIdOf } from '../model/text-id.ts'

/** A page of the lines that match, newest first. `page.before` is the last line of the previous page. */
export function searchAudit(store: AuditStore, filter: AuditFilter, page: AuditPage): Promise<AuditLine[]> {
  const { clientId } = filter
  return store.searchLines({ ...filter, clientId: clientId === undefined ? undefined : textIdOf(clientId) }, page)
}
