/** The statements on `grants` that more than one file needs. */
import type { StatementSync } from 'node:sqlite'
import type { SqliteConnection } from './connection.ts'
import { COLUMNS, type GrantRow } from './grant-row.ts'

export const END = `
  UPDATE grants SET ended_at = :at, end_reason = :reason
  WHERE id = :grantId AND ended_at IS NULL AND client_id = coalesce(:clientId, client_id)`

/** Prepares the read of one grant within a transaction that writes. */
export function preparePresent(connection: SqliteConnection): (id: Uint8Array) => GrantRow | undefined {
  const present = connection.prepareWrite(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  present.setReturnArrays(true)
  return (id) => rowOf(present, id)
}

export function rowOf(statement: StatementSync, id: Uint8Array): GrantRow | undefined {
  return statement.get(id) as GrantRow | undefined
}
