/** The store's revision: one row that increases with every change of a client, a key or a resource, and lists the latest changes. */
import { type Changes, changesAfter, RECENT_AT_MOST } from '../../domain/model/changes.ts'
import type { SqliteConnection } from './connection.ts'

type RevisionRow = { number: number; recent: string }

/** Call this in the write that changes the client, key or resource with this id. */
export function raiseRevision(connection: SqliteConnection): (id: string) => void {
  const raise = connection.prepareWrite(
    `UPDATE revision SET number = number + 1, recent = substr(recent || ' ' || (number + 1) || ':' || ?, -${RECENT_AT_MOST})`,
  )
  return (id) => void raise.run(id)
}

export function createRevision(connection: SqliteConnection): {
  readRevision(): Promise<number>
  readChanges(seen: number): Promise<Changes>
} {
  const read = connection.prepareRead('SELECT number, recent FROM revision')
  const row = (): Promise<RevisionRow> => connection.read(() => read.get() as RevisionRow)
  return {
    readRevision: async () => (await row()).number,
    async readChanges(seen) {
      const { number, recent } = await row()
      return changesAfter(seen, number, recent)
    },
  }
}
