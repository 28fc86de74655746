/** Records on SQLite. A change that raises the revision does so in the same commit. */
import type { SQLInputValue } from 'node:sqlite'
import type { Records } from '../record-stores.ts'
import { type RecordTable, type Row, statementsOf } from '../record-tables.ts'
import type { SqliteConnection } from './connection.ts'
import { raiseRevision } from './revision.ts'

type RowValues = Record<string, SQLInputValue>

export function createRecords(connection: SqliteConnection): Records {
  const raise = raiseRevision(connection)
  /** Runs a statement that changes at most one row, and raises the revision if a row changed. */
  function prepareChange<Item>({ key, listedAs }: RecordTable<Item>, sql: string): (row: Row) => boolean {
    const statement = connection.prepareWrite(sql)
    return (row) => {
      const hasChanged = statement.run(row as RowValues).changes > 0
      if (hasChanged && listedAs) raise(listedAs(String(row[key])))
      return hasChanged
    }
  }
  return {
    insert(table) {
      const insert = prepareChange(table, statementsOf(table).insert)
      return (item) => connection.write(() => (insert({ ...table.rowOf(item) }) ? 'inserted' : 'taken'))
    },
    insertBounded(table) {
      const insert = prepareChange(table, statementsOf(table).insertNumbered)
      const read = connection.prepareWrite(statementsOf(table).read)
      return (item) =>
        connection.write(() => {
          const row = table.rowOf(item)
          if (insert(row)) return 'inserted'
          return read.get({ [table.key]: String(row[table.key]) }) ? 'taken' : 'full'
        })
    },
    change(table) {
      const { read: readText, change: changeText } = statementsOf(table)
      const [read, change] = [connection.prepareWrite(readText), prepareChange(table, changeText)]
      return (key, toChange) =>
        connection.write(() => {
          const row = read.get({ [table.key]: key })
          const changed = row ? toChange(table.itemOf(row)) : null
          if (changed) change(table.rowOf(changed))
          return changed
        })
    },
    remove(table) {
      const remove = prepareChange(table, statementsOf(table).remove)
      return (key) => connection.write(() => (remove({ [table.key]: key }) ? 'deleted' : 'unknown'))
    },
    ...createReads(connection),
  }
}

function createReads(connection: SqliteConnection): Pick<Records, 'read' | 'list' | 'count' | 'page'> {
  return {
    read(table) {
      const read = connection.prepareRead(statementsOf(table).read)
      return (key) =>
        connection.read(() => {
          const row = read.get({ [table.key]: key })
          return row ? table.itemOf(row) : null
        })
    },
    list(table) {
      const list = connection.prepareRead(statementsOf(table).list)
      return () => connection.read(() => list.all().map(table.itemOf))
    },
    count(table) {
      const count = connection.prepareRead(statementsOf(table).count)
      return () => connection.read(() => (count.get() as { rows: number }).rows)
    },
    page(table) {
      const page = connection.prepareRead(statementsOf(table).page)
      return (of) => connection.read(() => page.all(of).map(table.itemOf))
    },
  }
}
