/** A change of several rows of one table. */

import { PATIENCE_MS } from './connection/server-group.ts'
import type { PostgresConnection } from './statements/connection.ts'
import type { Ask, ColumnType, ForMany, NamedValues } from './statements/statement.ts'

/** The number of rows that are changed at a time if a change concerns several rows on several machines. */
const ROWS_AT_ONCE = 8
/** The number of skipped rows that a change of several rows waits for at a time. */
const SKIPPED_AT_ONCE = 2

export type ChangeOfRows = {
  table: string
  /** the packed columns that identify a row; the parameters have the same names. On Citus, the first one finds the machine. */
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
  const isInput = (row: string) => matches(row, (column) => `:${column}::packed`)
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
    parameters: { ...Object.fromEntries(key.map((column) => [column, 'packed' as const])), ...parameters, position: 'bigint' },
    place: { table, key: first },
  }
}

/**
 * Prepares a change of several rows: one statement, or one statement for each row if the table is distributed. On several machines, a
 * statement over several rows would need a two-phase commit, and Citus acknowledges before the second phase has reached each machine.
 *
 * The statement over many rows is repeated for the rows that it skipped. If all of them are skipped again, the statement for one row is run
 * for each row, and waits for the lock.
 */
export function prepareForEach<Row>(
  connection: PostgresConnection,
  change: ForMany,
): (rows: readonly NamedValues[]) => Promise<Row[]> {
  const askAlone = connection.prepare<Row>(change.kind, change.one, change.place)
  const askForMany = connection.prepareForMany<Row & { skipped: number | null }>(change)
  return async (rows) => {
    if (!connection.placement.mayCombine('rows')) return askForEach(rows, askAlone, ROWS_AT_ONCE)
    const deadline = performance.now() + PATIENCE_MS
    const changed: Row[] = []
    for (let left = rows; left.length > 0; ) {
      const found = await askForMany(
        left.map((row, position) => ({ ...row, position })),
        deadline,
      )
      const skipped = found.flatMap((each) => (each.skipped === null ? [] : [left[each.skipped] ?? {}]))
      changed.push(...found.filter((each) => each.skipped === null))
      if (skipped.length === left.length)
        return [...changed, ...(await askForEach<Row>(left, (row) => askAlone(row, deadline), SKIPPED_AT_ONCE))]
      left = skipped
    }
    return changed
  }
}

/** Changes each row by a statement, `atOnce` of them at a time. Throws the first failure after all rows were tried. */
async function askForEach<Row>(rows: readonly NamedValues[], ask: Ask<Row>, atOnce: number): Promise<Row[]> {
  const changed: Row[] = []
  const failures: unknown[] = []
  const left = rows.values()
  const next = async () => {
    for (const row of left)
      await ask(row).then(
        (found) => changed.push(...found),
        (error) => failures.push(error),
      )
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  if (failures.length > 0) throw failures[0]
  return changed
}
