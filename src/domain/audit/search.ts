/** Searches of the trail, for the commands and for the admin API. */
import type { AuditFilter, AuditLine, AuditPage, AuditStore } from '../model/audit-store.ts'
import { textIdOf } from '../model/text-id.ts'

/** Lines of one read. */
const PAGE = 200

/** A page of the lines that match, newest first. `page.before` is the last line of the previous page. */
export function searchAudit(store: AuditStore, filter: AuditFilter, page: AuditPage): Promise<AuditLine[]> {
  const { clientId } = filter
  return store.searchLines({ ...filter, clientId: clientId === undefined ? undefined : textIdOf(clientId) }, page)
}

/** At most `limit` lines, page by page. Each page is read only when the consumer has taken the page before. */
export async function* searchPages(store: AuditStore, filter: AuditFilter, limit: number): AsyncGenerator<AuditLine[]> {
  let before: AuditLine | undefined
  for (let left = limit; left > 0; left -= PAGE) {
    const size = Math.min(left, PAGE)
    const page = await searchAudit(store, filter, { limit: size, before })
    if (page.length > 0) yield page
    if (page.length < size) return
    before = page.at(-1)
  }
}
