/** A row of the table `grants`, and its conversion to a grant. */
import type { Drawn, EndReason, Grant, SignedLimit } from '../../domain/model/records.ts'
import { readList } from '../list-text.ts'
import { unpack, unpackNullable } from '../packed.ts'
import type { ColumnType } from './statements/statement.ts'

/** Columns of the type `Uint8Array` are packed texts (`../packed.ts`). */
export type GrantRow = {
  id: Uint8Array
  client_id: Uint8Array
  wallet: Uint8Array
  is_contract: boolean
  receipt_id: Uint8Array | null
  consented: boolean
  /** separated by spaces */
  scopes: string
  resources: string
  /** null if every resource has every scope */
  scopes_by_resource: Record<string, string[]> | null
  created_at: number
  expires_at: number
  refresh_expires_at: number
  generation: number
  refresh_key_id: string
  rotated_at: number
  attempt_id: Uint8Array
  ended_at: number | null
  end_reason: string | null
  dpop_jkt: Uint8Array | null
  auth_time: number
  chain_id: number
  session_hash: Uint8Array | null
  session_receipt_id: Uint8Array | null
  epoch: number
  /** jti → exp */
  revoked_tokens: Record<string, number>
  /** null without a limit; the next four columns are null before the first draw */
  signed_limit: SignedLimit | null
  drawn_from: number | null
  drawn_uses: number | null
  drawn_amount: number | null
  draw_count: number | null
}

/** The value of a new row: a parameter of the insert with its type, or an SQL expression; null for the default of the column. */
type NewValue = { parameter: string; type: ColumnType } | { sql: string } | null

// The idle time is counted from the time of the database. The absolute end is exactly the one that the user agreed to.
const columns = {
  id: { parameter: 'id', type: 'packed' },
  client_id: { parameter: 'clientId', type: 'packed' },
  wallet: { parameter: 'wallet', type: 'packed' },
  is_contract: { parameter: 'isContract', type: 'boolean' },
  receipt_id: { parameter: 'receiptId', type: 'packed' },
  consented: { parameter: 'consented', type: 'boolean' },
  scopes: { parameter: 'scopes', type: 'text' },
  resources: { parameter: 'resources', type: 'text' },
  scopes_by_resource: { parameter: 'scopesByResource', type: 'jsonb' },
  created_at: { sql: ':at' },
  expires_at: { parameter: 'expiresAt', type: 'bigint' },
  refresh_expires_at: { sql: ':at + :refreshIdle::bigint' },
  generation: { sql: '0' },
  refresh_key_id: { parameter: 'refreshKeyId', type: 'text' },
  rotated_at: { sql: ':at' },
  attempt_id: { parameter: 'attemptId', type: 'packed' },
  ended_at: { sql: 'CASE WHEN :endReason::text IS NOT NULL THEN :at END' },
  end_reason: { sql: ':endReason::text' },
  dpop_jkt: { parameter: 'dpopJkt', type: 'packed' },
  auth_time: { parameter: 'authTime', type: 'bigint' },
  chain_id: { parameter: 'chainId', type: 'bigint' },
  session_hash: { parameter: 'sessionHash', type: 'packed' },
  session_receipt_id: { parameter: 'sessionReceiptId', type: 'packed' },
  epoch: { parameter: 'epoch', type: 'integer' },
  revoked_tokens: null,
  signed_limit: { parameter: 'signedLimit', type: 'jsonb' },
  drawn_from: null,
  drawn_uses: null,
  drawn_amount: null,
  draw_count: null,
} satisfies Record<keyof GrantRow, NewValue>

// Columns are listed by name: with `*`, a column that a later version adds would change the prepared statements of a running node.
export const COLUMNS = Object.keys(columns)
  .map((name) => `grants.${name}`)
  .join(', ')

const parameterOf = ({ parameter, type }: { parameter: string; type: ColumnType }) =>
  type === 'packed' ? `:${parameter}::packed` : `:${parameter}`

const inserted = Object.entries<NewValue>(columns).flatMap(([name, value]) => (value === null ? [] : [{ name, value }]))

export const INSERT_GRANT = `
  INSERT INTO grants (${inserted.map(({ name }) => name).join(', ')})`

export const NEW_ROW = `
  ${inserted.map(({ value }) => ('sql' in value ? value.sql : parameterOf(value))).join(', ')}`

/** The parameters of `NEW_ROW` with their types; `:at` is a parameter of every statement. */
export const NEW_ROW_PARAMETERS: Readonly<Record<string, ColumnType>> = {
  refreshIdle: 'bigint',
  endReason: 'text',
  ...Object.fromEntries(inserted.flatMap(({ value }) => ('sql' in value ? [] : [[value.parameter, value.type]]))),
}

export function grantOf(row: GrantRow): Grant {
  return {
    id: unpack(row.id),
    clientId: unpack(row.client_id),
    wallet: unpack(row.wallet) as Grant['wallet'],
    walletKind: row.is_contract ? 'contract' : 'ordinary',
    receiptId: unpackNullable(row.receipt_id),
    consented: row.consented,
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    scopesByResource: row.scopes_by_resource,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    refreshExpiresAt: row.refresh_expires_at,
    generation: row.generation,
    refreshKeyId: row.refresh_key_id,
    rotatedAt: row.rotated_at,
    endedAt: row.ended_at,
    endReason: row.end_reason as EndReason | null,
    dpopJkt: unpackNullable(row.dpop_jkt),
    authTime: row.auth_time,
    chainId: row.chain_id,
    sessionHash: unpackNullable(row.session_hash),
    sessionReceiptId: unpackNullable(row.session_receipt_id),
    epoch: row.epoch,
    revokedTokens: row.revoked_tokens,
    signedLimit: row.signed_limit,
    drawn: drawnOf(row),
  }
}

export type DrawnRow = Pick<GrantRow, 'drawn_from' | 'drawn_uses' | 'drawn_amount' | 'draw_count'>

export function drawnOf({ drawn_from: from, drawn_uses: uses, drawn_amount: amount, draw_count: draws }: DrawnRow): Drawn | null {
  return from === null || uses === null || amount === null || draws === null ? null : { from, uses, amount, draws }
}
