/**
 * Ids of grants: UUIDs that begin with a time and a count (version 7, RFC 9562 §5.7 and §6.2 method 1).
 *
 * Grants made one after the other lie side by side in every index that ends in the id, so that the pages a redemption
 * changes are those the one before has just changed: with random ids each insert writes three pages more.
 * An id is no secret: whoever may use a grant proves it by a MAC or a signature. The time is in `iat` anyway.
 */
import { randomUUID } from 'node:crypto'

let second = 0
let count = 0

/** `at` in epoch seconds. Nothing but the order on disk depends on it: 62 random bits tell ids of one moment apart. */
export function newGrantId(at: number): string {
  count = at === second ? count + 1 : 0
  second = at
  // 4,096 to each of the second's milliseconds, which nobody here measures.
  const time = (at * 1000 + Math.min(999, count >> 12)).toString(16).padStart(12, '0')
  const place = (count & 0xfff).toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}${randomUUID().slice(18)}`
}
