/** The parameter `wait`: how long a request may wait for news, in seconds. */
import { invalidRequest } from '../../protocol/oauth/oauth-error.ts'

/** Seconds. */
const WAIT_AT_MOST = 30

export function readWait(text: string | null): number {
  if (text === null) return 0
  const wait = /^\d{1,2}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  if (wait > WAIT_AT_MOST) throw invalidRequest('wait_malformed', `wait is a number of seconds from 0 to ${WAIT_AT_MOST}.`)
  return wait
}
