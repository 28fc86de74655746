/**
 * Ids of grants: UUIDs that begin with a time and a counter (version 7, RFC 9562 §5.7 and §6.2 method 1).
 *
 * Grants that are created one after the other are adjacent in every index that ends with the id, so consecutive redemptions change
 * the same pages. With random ids, each insert writes three more pages. An id is not secret: a token that names a grant has a MAC or
 * a signature. The time is public too, as `iat`.
 */
import { createHash, randomUUID } from 'node:crypto'
import { uuidOfBytes } from './uuid.ts'

let second = 0
let count = 0

/** `at` is in epoch seconds. Only the order on disk depends on this time: 62 random bits make the ids of one moment unique. */
export function newGrantId(at: number): string {
  count = at === second ? count + 1 : 0
  second = at
  // The milliseconds are not measured: after every 4,096 ids of one second, the next millisecond begins.
  const time = (at * 1000 + Math.min(999, count >> 12)).toString(16).padStart(12, '0')
  const place = (count & 0xfff).toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}${randomUUID().slice(18)}`
}

/**
 * The id of the one grant that a signature over a limit can create: the insert of the grant makes two codes of one signature impossible, on any number
 * of nodes. `signedAt` is in epoch seconds. Version 8 (RFC 9562 §5.8): the time, and 72 bits of a hash.
 */
export function grantIdOfReceipt(receiptId: string, signedAt: number): string {
  const time = (signedAt * 1000).toString(16).padStart(12, '0')
  const hash = uuidOfBytes(createHash('sha256').update(`limited grant ${receiptId}`).digest().subarray(0, 16))
  return `${time.slice(0, 8)}-${time.slice(8)}-8${hash.slice(15, 18)}-a${hash.slice(20)}`
}
