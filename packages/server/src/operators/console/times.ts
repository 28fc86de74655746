/** Times on the console's pages, which are in English. */
import type { Html } from '../../pages/html.ts'
import { ENGLISH } from '../../pages/languages.ts'
import { fromNow as fromNowIn } from '../../pages/times.ts'

export function fromNow(at: number, now: number): Html {
  return fromNowIn(at, now, ENGLISH)
}
