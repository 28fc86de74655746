/** The small lists on SQLite. A list is one record. */
import type { ListStore, SmallLists } from '../../domain/model/operator-store.ts'
import type { Connection } from './connection.ts'

export function createListStore(connection: Connection): ListStore {
  const read = connection.prepareRead('SELECT items FROM lists WHERE name = ?')
  const present = connection.prepareWrite('SELECT items FROM lists WHERE name = ?')
  const replace = connection.prepareWrite('UPDATE lists SET items = ? WHERE name = ?')
  return {
    readList: (name) => connection.read(() => itemsOf<typeof name>(read.get(name))),
    changeList: (name, change) =>
      connection.write(() => {
        const items = change(itemsOf<typeof name>(present.get(name)))
        replace.run(JSON.stringify(items), name)
        return items
      }),
  }
}

function itemsOf<Name extends keyof SmallLists>(row: unknown): SmallLists[Name][] {
  return JSON.parse((row as { items: string }).items) as SmallLists[Name][]
}
