/**
 * Rows of `grants`. SQLite returns them as arrays (`setReturnArrays`), and `grantOf` reads them by position.
 *
 * If SQLite returns objects, the introspection of the same token takes 69 µs of processor time instead of 64 (8 %): lowest tenth
 * of 160 alternating runs on 2026-11-22, two busy cores of an AMD EPYC. To repeat the measurement:
 * `npm run bench -- peer --only same --baseline DIR`.
 */
import type { Grant } from '../../domain/model/records.ts'

/**
 * From each column, in the order of `grantOf`, to its value in a new row: an SQL expression over the parameters of `INSERT_GRANT`; null
 * for the default of the column.
 */
const columns = {
  id: ':id',
  client_id: ':clientId',
  wallet: ':wallet',
  wallet_kind: ':walletKind',
  receipt_id: ':receiptId',
  consented: ':consented',
  scopes: ':scopes',
  resources: ':resources',
  created_at: ':at',
  expires_at: ':expiresAt',
  refresh_expires_at: ':refreshExpiresAt',
  generation: '0',
  refresh_key_id: ':refreshKeyId',
  rotated_at: ':at',
  ended_at: ':endedAt',
  end_reason: ':endReason',
  dpop_jkt: ':dpopJkt',
  auth_time: ':authTime',
  chain_id: ':chainId',
  session_hash: ':sessionHash',
  revoked_tokens: null,
  attempt_id: ':attemptId',
  session_receipt_id: ':sessionReceiptId',
  scopes_by_resource: ':scopesByResource',
} satisfies Record<string, string | null>

/** The columns are named, because with `*` a column that a later version adds would change a prepared statement. */
export const COLUMNS = Object.keys(columns).join(', ')

const inserted = Object.entries(columns).filter(([, value]) => value !== null)

/** Inserts a new grant. An existing row is not changed. */
export const INSERT_GRANT = `
  INSERT INTO grants (${inserted.map(([name]) => name).join(', ')})
  VALUES (${inserted.map(([, value]) => value).join(', ')})
  ON CONFLICT (id) DO NOTHING`

export type GrantRow = readonly (string | number | null)[]

export function grantOf(row: GrantRow): Grant {
  return {
    id: row[0] as string,
    clientId: row[1] as string,
    wallet: row[2] as Grant['wallet'],
    walletKind: row[3] as Grant['walletKind'],
    receiptId: row[4] as string | null,
    consented: row[5] === 1,
    scopes: JSON.parse(row[6] as string) as string[],
    resources: JSON.parse(row[7] as string) as string[],
    scopesByResource: row[23] === null ? null : (JSON.parse(row[23] as string) as Grant['scopesByResource']),
    createdAt: row[8] as number,
    expiresAt: row[9] as number,
    refreshExpiresAt: row[10] as number,
    generation: row[11] as number,
    refreshKeyId: row[12] as string,
    rotatedAt: row[13] as number,
    endedAt: row[14] as number | null,
    endReason: row[15] as Grant['endReason'],
    dpopJkt: row[16] as string | null,
    authTime: row[17] as number | null,
    chainId: row[18] as number | null,
    sessionHash: row[19] as string | null,
    sessionReceiptId: row[22] as string | null,
    revokedTokens: JSON.parse(row[20] as string) as Grant['revokedTokens'],
  }
}

/** The attempt that inserted the row or last rotated its refresh token. */
export function attemptOf(row: GrantRow): string {
  return row[21] as string
}
