/** The row of a session, the same in both engines. */
import type { Session } from '../domain/model/records.ts'

export type SessionRow = {
  hash: string
  wallet: string
  chain_id: number
  method: string
  wallet_kind: string
  receipt_id: string | null
  epoch: number
  auth_time: number
  last_seen_at: number
  expires_at: number
  /** 0 or 1 on SQLite */
  elsewhere: boolean | number
  browser: string
  ended_at: number | null
  replaced_by: string | null
}

export function sessionOf(row: SessionRow): Session {
  return {
    hash: row.hash,
    wallet: row.wallet as Session['wallet'],
    chainId: row.chain_id,
    method: row.method as Session['method'],
    walletKind: row.wallet_kind as Session['walletKind'],
    receiptId: row.receipt_id,
    epoch: row.epoch,
    authTime: row.auth_time,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    elsewhere: Boolean(row.elsewhere),
    browser: row.browser,
    endedAt: row.ended_at,
    replacedBy: row.replaced_by,
  }
}
