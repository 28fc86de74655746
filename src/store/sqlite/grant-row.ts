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
  dpop_jkt: string | null
  auth_time: number | null
  chain_id: number | null
  session_hash: string | null
  /** JSON object: jti → exp */
  revoked_tokens: string
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
  'revoked_tokens',
] as const satisfies (keyof GrantRow)[]

// By name, never *: a column that a later version adds must not change what a running process has prepared.
export const COLUMNS = NAMES.join(', ')

type Value = string | number | null

/** A row from its values in the order of `COLUMNS`: asking SQLite for an array costs half of asking for an object. */
export function rowOf(values: unknown): GrantRow | undefined {
  if (values === undefined) return undefined
  const row = values as Value[]
  return {
    id: row[0] as string,
    client_id: row[1] as string,
    wallet: row[2] as string,
    wallet_kind: row[3] as string,
    receipt_id: row[4] as string | null,
    consented: row[5] as number,
    scopes: row[6] as string,
    resources: row[7] as string,
    created_at: row[8] as number,
    expires_at: row[9] as number,
    refresh_expires_at: row[10] as number,
    generation: row[11] as number,
    refresh_key_id: row[12] as string,
    rotated_at: row[13] as number,
    attempt_id: row[14] as string,
    ended_at: row[15] as number | null,
    end_reason: row[16] as string | null,
    dpop_jkt: row[17] as string | null,
    auth_time: row[18] as number | null,
    chain_id: row[19] as number | null,
    session_hash: row[20] as string | null,
    revoked_tokens: row[21] as string,
  }
}

export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    clientId: row.client_id,
    wallet: row.wallet as Grant['wallet'],
    walletKind: row.wallet_kind as Grant['walletKind'],
    receiptId: row.receipt_id,
    consented: row.consented === 1,
    scopes: listOf(row.scopes),
    resources: listOf(row.resources),
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
    revokedTokens: row.revoked_tokens === '{}' ? {} : (JSON.parse(row.revoked_tokens) as Record<string, number>),
  }
}

/** A JSON array of texts. Nearly all grants have one scope and no resource, each a plain word. */
function listOf(json: string): string[] {
  if (json === '[]') return []
  return PLAIN_WORD.test(json) ? [json.slice(2, -2)] : (JSON.parse(json) as string[])
}

const PLAIN_WORD = /^\["[\w.:/-]*"\]$/
