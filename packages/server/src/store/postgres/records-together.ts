/**
 * Records that are read, inserted or changed at the same time share a statement. Every change of a record waits for the row of the revision until
 * the commit before it, so `grantor apply` with 10,000 clients would otherwise wait for the disk 10,000 times.
 *
 * On Citus each inserted or changed record has a statement of its own: a node may be connected to a worker, and the tables are on the coordinator.
 */

import { combineCalls } from '../../domain/model/combine-calls.ts'
import { type RecordTable, type Row, rowInSql, statementsOf } from '../record-tables.ts'
import { withRaisedRevisionForEach } from './revision.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { Queue } from './statements/queue.ts'
import type { Ask } from './statements/statement.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Whether a row was inserted or changed. */
export type WriteRow = (row: Row) => Promise<boolean>

export function insertingTogether<Item>(connection: PostgresConnection, table: RecordTable<Item>, alone: WriteRow): WriteRow {
  const insert = connection.prepare<{ key: string }>('once', withRaisedRevisionForEach(statementsOf(table).insertMany))
  return writingTogether(connection, table, alone, (rows) => insert({ rows: asJson(rows) }))
}

/** The rows also have the values of `parametersBefore`. */
export function changingTogether<Item>(connection: PostgresConnection, table: RecordTable<Item>, alone: WriteRow): WriteRow {
  const change = connection.prepare<{ key: string }>('move', withRaisedRevisionForEach(statementsOf(table).changeManyIfUnchanged))
  const valuesOf = (row: Row, prefix: string) =>
    Object.fromEntries([table.key, ...table.columns].map((column) => [column, row[`${prefix}${column}`]]))
  return writingTogether(connection, table, alone, (rows) =>
    change({
      rows: asJson(rows.map((row) => valuesOf(row, ''))),
      before: asJson(rows.map((row) => valuesOf(row, 'before_'))),
    }),
  )
}

/** Statements of one table that run at a time. */
const READS_AT_ONCE = 2

/**
 * The row of a key; undefined if there is none. Any caller can cause the look-up of a client by naming an id, so look-ups use few connections:
 * while these are in use, the other look-ups wait and form the next statement.
 */
export function readingTogether<Item>(
  connection: PostgresConnection,
  table: RecordTable<Item>,
  alone: Ask<Row>,
): (key: string) => Promise<Row | undefined> {
  const many = connection.prepare<Row>('read', statementsOf(table).readMany)
  const places = new Queue(READS_AT_ONCE)
  const nextPlace = async () => {
    await nextTurn()
    await places.enter()
  }
  return combineCalls(nextPlace, async (keys) => {
    try {
      if (keys.length === 1) return await alone({ [table.key]: keys[0] })
      const rows = new Map((await many({ keys: JSON.stringify(keys) })).map((row) => [row[table.key], row]))
      return keys.map((key) => rows.get(key))
    } finally {
      places.leave()
    }
  })
}

type WriteMany = (rows: readonly Row[]) => Promise<{ key: string }[]>

function writingTogether<Item>(
  connection: PostgresConnection,
  { key }: RecordTable<Item>,
  alone: WriteRow,
  many: WriteMany,
): WriteRow {
  return combineCalls(nextTurn, async (rows) => {
    if (rows.length === 1 || !connection.placement.mayCombine('records')) return Promise.all(rows.map(alone))
    // Of several rows with one key, the first one is written.
    const first = new Map(rows.toReversed().map((row) => [row[key], row]))
    const written = new Set<unknown>((await many([...first.values()])).map((row) => row.key))
    return rows.map((row) => first.get(row[key]) === row && written.has(row[key]))
  })
}

function asJson(rows: readonly Row[]): string {
  return JSON.stringify(rows.map(rowInSql))
}
