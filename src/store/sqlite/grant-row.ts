/** A row of `grants`, and the grant it stands for. */
import type { EndReason, Grant } from '../../grants/model.ts'

export type GrantRow = {
  id: string
  client_id: string
  wallet: string
  wallet_kind: string
  receipt_id: string | null
  consented: number
  /** JSON arrays */
  scopes: string
  resources: string
  created_at: number
  expires_at: number
  refresh_expires_at: number
  generation: number
  refresh_key_id: string
  rotated_at: number
  attempt_id: string
  ended_at: number | null
  end_reason: string | null
  /** JSON object: jti → exp */
  revoked_tokens: string
}

export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    clientId: row.client_id,
    wallet: row.wallet as Grant['wallet'],
    walletKind: row.wallet_kind as Grant['walletKind'],
    receiptId: row.receipt_id,
    consented: row.consented === 1,
    scopes: JSON.parse(row.scopes) as string[],
    resources: JSON.parse(row.resources) as string[],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    refreshExpiresAt: row.refresh_expires_at,
    generation: row.generation,
    refreshKeyId: row.refresh_key_id,
    rotatedAt: row.rotated_at,
    endedAt: row.ended_at,
    endReason: row.end_reason as EndReason | null,
    revokedTokens: JSON.parse(row.revoked_tokens) as Record<string, number>,
  }
}
