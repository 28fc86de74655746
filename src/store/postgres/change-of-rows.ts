/** A change of several rows of one table. */
import type { ForMany } from './connection/connection.ts'
import type { ColumnType } from './connection/statement.ts'

export type ChangeOfRows = {
  table: string
  /** the columns that identify a row; the parameters have the same names. On Citus, the first one finds the machine. */
  key: readonly string[]
  set: string
  /** which of the rows change */
  condition: string
  /** the types of the other parameters */
  parameters?: Readonly<Record<string, ColumnType>>
}

/**
 * The statement over many rows waits for no lock: it locks the rows in the order of their keys, skips those that another transaction has
 * locked, and returns the positions of the skipped ones. Otherwise two nodes that change the same rows could wait for each other, and one
 * locked row would hold up all the others.
 */
export function changeOfRows({ table, key, set, condition, parameters = {} }: ChangeOfRows): ForMany {
  const [first = ''] = key
  const columns = key.map((column) => `${table}.${column}`).join(', ')
  const matches = (row: string, other: (column: string) => string) =>
    key.map((column) => `${row}.${column} = ${other(column)}`).join(' AND ')
  const isInput = (row: string) => matches(row, (column) => `:${column}`)
  return {
    kind: 'move',
    one: `UPDATE ${table} SET ${set} WHERE ${isInput(table)} AND (${condition}) RETURNING ${columns}`,
    forMany: `,
      unlocked AS (
        SELECT ${columns} FROM input JOIN ${table} ON ${isInput(table)} ORDER BY ${columns} FOR NO KEY UPDATE OF ${table} SKIP LOCKED),
      changed AS (
        UPDATE ${table} SET ${set} FROM input JOIN unlocked ON ${isInput('unlocked')}
        WHERE ${matches(table, (column) => `unlocked.${column}`)} AND (${condition}) RETURNING ${columns})
      SELECT ${key.map((column) => `:${column} AS ${column}`).join(', ')},
             CASE WHEN changed.${first} IS NULL THEN :position END AS skipped
      FROM input LEFT JOIN unlocked ON ${isInput('unlocked')} LEFT JOIN changed ON ${isInput('changed')}
      WHERE unlocked.${first} IS NULL OR changed.${first} IS NOT NULL`,
    parameters: { ...Object.fromEntries(key.map((column) => [column, 'text' as const])), ...parameters, position: 'bigint' },
    place: { table, key: first },
  }
}
