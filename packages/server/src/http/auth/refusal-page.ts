import type { Reader } from '../../pages/languages.ts'
import { type Notice, noticePage, plainNoticePage } from '../../pages/notice-page.ts'
import type { HttpService } from './service.ts'

/**
 * The page of a refusal, with `pageHeaders`. Any caller can cause any number of refusals, from many networks, and to write the 19 kB of a page takes
 * longer than the rest of the request. So beyond the limit of this process the page has the same words without style.
 */
export function refusalPage({ limits }: Pick<HttpService, 'limits'>, notice: Notice, reader: Reader): string {
  const isWithin = limits.count('refusal_pages', 'all').allowed
  return isWithin ? noticePage(notice, reader) : plainNoticePage(notice, reader)
}
