/**
 * Rows of `grants`. SQLite returns them as arrays (`setReturnArrays`), and `grantOf` reads them by position.
 *
 * If SQLite returns objects, the introspection of the same token takes 69 µs of processor time instead of 64 (8 %): lowest tenth
 * of 160 alternating runs on 2026-11-22, two busy cores of an AMD EPYC. To repeat the measurement:
 * `npm run bench -- peer --only same --baseline DIR`.
 */
import type { SQLInputValue } from 'node:sqlite'
import type { Drawn, EndReason, Grant, SignedLimit } from '../../domain/model/records.ts'
import type { NewGrant } from '../../domain/model/request-store.ts'
import { listText, readList } from '../list-text.ts'
import { packNullable, unpackHex, unpackHexNullable, unpackNullable } from '../packed.ts'

export type NewRow = {
  grant: NewGrant
  attemptId: string
  at: number
  ended: { endedAt: number; endReason: EndReason } | null
}

type Column = { readAs: 'column' | 'hex'; valueOf: ((row: NewRow) => SQLInputValue) | null }

const plain = (valueOf: Column['valueOf']): Column => ({ readAs: 'column', valueOf })
type TextOf = (row: NewRow) => string | null
const packed = (textOf: TextOf): Column => ({ readAs: 'hex', valueOf: (row) => packNullable(textOf(row)) })
/** Most grants have no value: then SQLite returns the bytes faster than their digits. */
const packedSeldom = (textOf: TextOf): Column => ({ readAs: 'column', valueOf: (row) => packNullable(textOf(row)) })

/** From each column, in the order of `grantOf`, to its value in a new row; null for the default of the column. */
const columns = {
  id: packed(({ grant }) => grant.id),
  client_id: packed(({ grant }) => grant.clientId),
  wallet: packed(({ grant }) => grant.wallet),
  is_contract: plain(({ grant }) => (grant.walletKind === 'contract' ? 1 : 0)),
  receipt_id: packed(({ grant }) => grant.receiptId),
  consented: plain(({ grant }) => (grant.consented ? 1 : 0)),
  scopes: plain(({ grant }) => listText(grant.scopes)),
  resources: plain(({ grant }) => listText(grant.resources)),
  created_at: plain(({ at }) => at),
  expires_at: plain(({ grant }) => grant.expiresAt),
  refresh_expires_at: plain(({ grant }) => grant.refreshExpiresAt),
  generation: plain(() => 0),
  refresh_key_id: plain(({ grant }) => grant.refreshKeyId),
  rotated_at: plain(({ at }) => at),
  ended_at: plain(({ ended }) => ended?.endedAt ?? null),
  end_reason: plain(({ ended }) => ended?.endReason ?? null),
  dpop_jkt: packedSeldom(({ grant }) => grant.dpopJkt),
  auth_time: plain(({ grant }) => grant.authTime),
  chain_id: plain(({ grant }) => grant.chainId),
  session_hash: packed(({ grant }) => grant.sessionHash),
  revoked_tokens: plain(null),
  attempt_id: packed(({ attemptId }) => attemptId),
  session_receipt_id: packedSeldom(({ grant }) => grant.sessionReceiptId),
  scopes_by_resource: plain(({ grant }) => grant.scopesByResource && JSON.stringify(grant.scopesByResource)),
  epoch: plain(({ grant }) => grant.epoch),
  signed_limit: plain(({ grant }) => grant.signedLimit && JSON.stringify(grant.signedLimit)),
  drawn_from: plain(null),
  drawn_uses: plain(null),
  drawn_amount: plain(null),
  draw_count: plain(null),
} satisfies Record<string, Column>

/** The columns are named, because with `*` a column that a later version adds would change a prepared statement. */
export const COLUMNS = Object.entries(columns)
  .map(([name, { readAs }]) => (readAs === 'hex' ? `hex(${name})` : name))
  .join(', ')

const inserted = Object.entries(columns).flatMap(([name, { valueOf }]) => (valueOf ? [{ name, valueOf }] : []))

/**
 * Inserts a new grant from `newRow`. An existing row is not changed. The parameters have positions: with names, binding them takes
 * longer than the rest of the insert (10.3 and 5.4 µs).
 */
export const INSERT_GRANT = `
  INSERT INTO grants (${inserted.map(({ name }) => name).join(', ')})
  VALUES (${inserted.map(() => '?').join(', ')})
  ON CONFLICT (id) DO NOTHING`

export function newRow(row: NewRow): SQLInputValue[] {
  return inserted.map(({ valueOf }) => valueOf(row))
}

export type GrantRow = readonly (string | number | Uint8Array | null)[]

export function grantOf(row: GrantRow): Grant {
  return {
    id: unpackHex(row[0] as string),
    clientId: unpackHex(row[1] as string),
    wallet: unpackHex(row[2] as string) as Grant['wallet'],
    walletKind: row[3] === 1 ? 'contract' : 'ordinary',
    receiptId: unpackHexNullable(row[4] as string),
    consented: row[5] === 1,
    scopes: readList(row[6] as string),
    resources: readList(row[7] as string),
    scopesByResource: row[23] === null ? null : (JSON.parse(row[23] as string) as Grant['scopesByResource']),
    createdAt: row[8] as number,
    expiresAt: row[9] as number,
    refreshExpiresAt: row[10] as number,
    generation: row[11] as number,
    refreshKeyId: row[12] as string,
    rotatedAt: row[13] as number,
    endedAt: row[14] as number | null,
    endReason: row[15] as Grant['endReason'],
    dpopJkt: unpackNullable(row[16] as Uint8Array | null),
    authTime: row[17] as number,
    chainId: row[18] as number,
    sessionHash: unpackHexNullable(row[19] as string),
    sessionReceiptId: unpackNullable(row[22] as Uint8Array | null),
    epoch: row[24] as number,
    revokedTokens: JSON.parse(row[20] as string) as Grant['revokedTokens'],
    ...limitOf(row, 25),
  }
}

/** The limit and its counts, whose columns begin at a position. */
export function limitOf(row: GrantRow, first: number): Pick<Grant, 'signedLimit' | 'drawn'> {
  const signed = row[first] as string | null
  if (signed === null) return { signedLimit: null, drawn: null }
  const [from, uses, amount, draws] = row.slice(first + 1) as (number | null)[]
  const drawn = from === null ? null : ({ from, uses, amount, draws } as Drawn)
  return { signedLimit: JSON.parse(signed) as SignedLimit, drawn }
}

/** The attempt that inserted the row or last rotated its refresh token. */
export function attemptOf(row: GrantRow): string {
  return unpackHex(row[21] as string)
}
