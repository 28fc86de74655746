/** The row of a session, the same in both engines. */
import type { Session } from '../domain/model/records.ts'
import { pack, packNullable, unpack, unpackNullable } from './packed.ts'

/** The types that are `Uint8Array` are packed. SQLite has 0 or 1 for a boolean. */
export type SessionRow = {
  hash: Uint8Array
  wallet: Uint8Array
  chain_id: number
  is_vouched: boolean | number
  is_contract: boolean | number
  receipt_id: Uint8Array | null
  epoch: number
  auth_time: number
  last_seen_at: number
  expires_at: number
  elsewhere: boolean | number
  browser: string
  ended_at: number | null
  replaced_by: Uint8Array | null
}

export function sessionOf(row: SessionRow): Session {
  return {
    hash: unpack(row.hash),
    wallet: unpack(row.wallet) as Session['wallet'],
    chainId: row.chain_id,
    method: row.is_vouched ? 'vouched' : 'signature',
    walletKind: row.is_contract ? 'contract' : 'ordinary',
    receiptId: unpackNullable(row.receipt_id),
    epoch: row.epoch,
    authTime: row.auth_time,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    elsewhere: Boolean(row.elsewhere),
    browser: row.browser,
    endedAt: row.ended_at,
    replacedBy: unpackNullable(row.replaced_by),
  }
}

/** The values of a new row: the parameters of the insert, by their names. */
export function newSessionRow({ method, walletKind, ...session }: Session, attemptId: string) {
  return {
    ...session,
    hash: pack(session.hash),
    wallet: pack(session.wallet),
    isVouched: method === 'vouched',
    isContract: walletKind === 'contract',
    receiptId: packNullable(session.receiptId),
    replacedBy: packNullable(session.replacedBy),
    attemptId: pack(attemptId),
  }
}
