/** Records on PostgreSQL. A change that raises the revision does so in the same statement. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ChangeRecord, Records } from '../record-stores.ts'
import { type RecordTable, type Row, statementsOf } from '../record-tables.ts'
import { changingTogether, insertingTogether, readingTogether } from './records-together.ts'
import { PROBE, prepareRecordConfirmation, withRaisedRevision } from './revision.ts'
import type { PostgresConnection } from './statements/connection.ts'
import type { StatementKind } from './statements/statement.ts'

/** If the response to a change is lost, the change is recognised by its id, unless this many other changes came after it. */
const ATTEMPTS_AT_MOST = 50

export function createRecords(connection: PostgresConnection): Records {
  const confirm = prepareRecordConfirmation(connection)
  return {
    insert(table) {
      const alone = prepareWrite(connection, table, 'once', statementsOf(table).insert)
      const insert = table.usedTogether ? insertingTogether(connection, table, alone) : alone
      return async (item) => ((await insert(table.rowOf(item))) ? 'inserted' : 'taken')
    },
    insertBounded(table) {
      const text = statementsOf(table)
      const insert = prepareWrite(connection, table, 'once', text.insertNumbered)
      const read = connection.prepare('read', text.read)
      const count = connection.prepare<{ rows: number }>('read', text.count)
      return async (item) => {
        const row = table.rowOf(item)
        for (;;) {
          if (await insert(row)) return 'inserted'
          if ((await read(row)).length > 0) return 'taken'
          const [counted] = await count()
          if ((counted?.rows ?? 0) >= (table.atMost ?? 0)) return 'full'
        }
      }
    },
    change: (table) => prepareChange(connection, table),
    remove(table) {
      const remove = prepareWrite(connection, table, 'once', statementsOf(table).remove)
      return async (key) => {
        if (await remove({ [table.key]: key })) return 'deleted'
        await confirm()
        return 'unknown'
      }
    },
    read(table) {
      const read = prepareRead(connection, table)
      return async (key) => {
        const row = await read(key)
        return row ? table.itemOf(row) : null
      }
    },
    list(table) {
      const list = connection.prepare<Row>('read', statementsOf(table).list)
      return async () => (await list()).map(table.itemOf)
    },
    count(table) {
      const count = connection.prepare<{ rows: number }>('read', statementsOf(table).count)
      return async () => (await count())[0]?.rows ?? 0
    },
    page(table) {
      const page = connection.prepare<Row>('read', statementsOf(table).page)
      return async (of) => (await page(of)).map(table.itemOf)
    },
  }
}

/** Prepares a statement that changes at most one row. The result is whether a row changed. */
function prepareWrite<Item>(
  connection: PostgresConnection,
  { key, listedAs }: RecordTable<Item>,
  kind: StatementKind,
  sql: string,
): (row: Row) => Promise<boolean> {
  const ask = connection.prepare(kind, listedAs ? withRaisedRevision(sql) : `${sql} RETURNING ${key}`)
  return async (row) => (await ask({ ...row, listedAs: listedAs?.(String(row[key])) })).length > 0
}

/** Prepares the read of one row. */
function prepareRead<Item>(connection: PostgresConnection, table: RecordTable<Item>): (key: string) => Promise<Row | undefined> {
  const alone = connection.prepare<Row>('read', statementsOf(table).read)
  if (table.usedTogether) return readingTogether(connection, table, alone)
  return async (key) => (await alone({ [table.key]: key }))[0]
}

function prepareChange<Item>(connection: PostgresConnection, table: RecordTable<Item>): ChangeRecord<Item> {
  const columns = table.remembersAttempts ? [...table.columns, 'attempts'] : table.columns
  const text = statementsOf({ ...table, columns })
  const read = prepareRead(connection, { ...table, columns })
  const alone = prepareWrite(connection, table, 'move', text.changeIfUnchanged)
  const write = table.usedTogether ? changingTogether(connection, table, alone) : alone
  const checkWritable = connection.prepare('move', PROBE)
  const confirm = prepareRecordConfirmation(connection)
  return async (key, change) => {
    const attempt = randomUUID()
    const instance = await connection.readInstance()
    let sent: Item | null = null
    for (;;) {
      const row = await read(key)
      const item = row ? table.itemOf(row) : null
      const attempts = ((row?.attempts ?? '') as string).split(' ')
      // The change of this call is stored already: only the response was lost.
      const isDone: boolean = table.remembersAttempts
        ? attempts.includes(attempt)
        : sent !== null && isDeepStrictEqual(item, sent)
      const changed: Item | null = item && !isDone ? change(item) : null
      if (!row || !changed) {
        // A server that takes no writes may have returned an old row.
        if (!isDone) await checkWritable()
        await confirm({}, instance)
        return isDone ? item : null
      }
      const after = table.rowOf(changed)
      const attemptsAfter = [attempt, ...attempts].slice(0, ATTEMPTS_AT_MOST).join(' ')
      // The statement for many records skips locked rows. The one for one record waits for the lock, until the timeout of a statement.
      const writeNow = sent === null ? write : alone
      if (await writeNow({ ...after, attempts: attemptsAfter, ...parametersBefore(row) })) return changed
      sent = table.itemOf(after)
    }
  }
}

/** The values with which `changeIfUnchanged` compares the row. */
function parametersBefore(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [`before_${column}`, value]))
}
