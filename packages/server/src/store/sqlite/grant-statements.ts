/** The statements on `grants` that more than one file needs. */
import type { StatementSync } from 'node:sqlite'
import type { GrantValidity } from '../../domain/model/request-store.ts'
import { unpackHex } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
import { COLUMNS, type GrantRow, limitOf } from './grant-row.ts'

export const END = `
  UPDATE grants SET ended_at = :at, end_reason = :reason
  WHERE id = :grantId AND ended_at IS NULL AND client_id = coalesce(:clientId, client_id)`

export const READ_VALIDITY = `
  SELECT hex(client_id), expires_at, ended_at, revoked_tokens, signed_limit, drawn_from, drawn_uses, drawn_amount, draw_count
  FROM grants WHERE id = ?`

export function validityOf(row: GrantRow): GrantValidity {
  const [client, expiresAt, endedAt, revoked] = row as readonly [string, number, number | null, string, ...GrantRow]
  const revokedTokens = JSON.parse(revoked) as GrantValidity['revokedTokens']
  return { clientId: unpackHex(client), expiresAt, endedAt, revokedTokens, ...limitOf(row, 4) }
}

/** Prepares the read of one grant within a transaction that writes. */
export function preparePresent(connection: SqliteConnection): (id: Uint8Array) => GrantRow | undefined {
  const present = connection.prepareWrite(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  present.setReturnArrays(true)
  return (id) => rowOf(present, id)
}

export function rowOf(statement: StatementSync, id: Uint8Array): GrantRow | undefined {
  return statement.get(id) as GrantRow | undefined
}
