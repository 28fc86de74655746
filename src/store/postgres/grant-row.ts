/** A row of the table `grants`, and its conversion to a grant. */
import type { EndReason, Grant } from '../../domain/model/records.ts'

export type GrantRow = {
  id: string
  client_id: string
  wallet: string
  wallet_kind: string
  receipt_id: string | null
  consented: boolean
  scopes: string[]
  resources: string[]
  created_at: number
  expires_at: number
  refresh_expires_at: number
  generation: number
  refresh_key_id: string
  rotated_at: number
  attempt_id: string
  ended_at: number | null
  end_reason: string | null
  dpop_jkt: string | null
  auth_time: number | null
  chain_id: number | null
  session_hash: string | null
  session_receipt_id: string | null
  /** jti → exp */
  revoked_tokens: Record<string, number>
}

const NAMES = [
  'id',
  'client_id',
  'wallet',
  'wallet_kind',
  'receipt_id',
  'consented',
  'scopes',
  'resources',
  'created_at',
  'expires_at',
  'refresh_expires_at',
  'generation',
  'refresh_key_id',
  'rotated_at',
  'attempt_id',
  'ended_at',
  'end_reason',
  'dpop_jkt',
  'auth_time',
  'chain_id',
  'session_hash',
  'session_receipt_id',
  'revoked_tokens',
] as const satisfies (keyof GrantRow)[]

// Columns are listed by name: with `*`, a column that a later version adds would change the prepared statements of a running node.
export const COLUMNS = NAMES.map((name) => `grants.${name}`).join(', ')

export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    clientId: row.client_id,
    wallet: row.wallet as Grant['wallet'],
    walletKind: row.wallet_kind as Grant['walletKind'],
    receiptId: row.receipt_id,
    consented: row.consented,
    scopes: row.scopes,
    resources: row.resources,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    refreshExpiresAt: row.refresh_expires_at,
    generation: row.generation,
    refreshKeyId: row.refresh_key_id,
    rotatedAt: row.rotated_at,
    endedAt: row.ended_at,
    endReason: row.end_reason as EndReason | null,
    dpopJkt: row.dpop_jkt,
    authTime: row.auth_time,
    chainId: row.chain_id,
    sessionHash: row.session_hash,
    sessionReceiptId: row.session_receipt_id,
    revokedTokens: row.revoked_tokens,
  }
}
