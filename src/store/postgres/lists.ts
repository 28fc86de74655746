/** The small lists on PostgreSQL. A list is one record. */
import { randomUUID } from 'node:crypto'
import type { ListStore, SmallLists } from '../../domain/model/operator-store.ts'
import type { Connection } from './connection/connection.ts'
import { preparingConfirmation } from './revision.ts'

type ListRow = { items: string; attempts: string }

/** If the answer to a change is lost, the change is recognised by its id, unless this many other changes came after it. */
const ATTEMPTS_AT_MOST = 50

export function createListStore(connection: Connection): ListStore {
  const read = connection.prepare<ListRow>('read', 'SELECT items, attempts FROM lists WHERE name = :name')
  const replaceThat = connection.prepare(
    'move',
    `UPDATE lists SET items = :items, attempts = :attempts
     WHERE name = :name AND items = :itemsBefore AND attempts = :attemptsBefore RETURNING name`,
  )
  const confirm = preparingConfirmation(connection)
  async function readRow(name: keyof SmallLists): Promise<ListRow> {
    const [row] = await read({ name })
    if (!row) throw new Error(`the store has no list "${name}"`)
    return row
  }
  return {
    readList: async (name) => JSON.parse((await readRow(name)).items) as SmallLists[typeof name][],
    async changeList(name, change) {
      const attempt = randomUUID()
      for (;;) {
        const row = await readRow(name)
        const items = JSON.parse(row.items) as SmallLists[typeof name][]
        const attempts = row.attempts.split(' ')
        if (attempts.includes(attempt)) {
          await confirm()
          return items
        }
        const changed = change(items)
        const after = { items: JSON.stringify(changed), attempts: [attempt, ...attempts].slice(0, ATTEMPTS_AT_MOST).join(' ') }
        const before = { itemsBefore: row.items, attemptsBefore: row.attempts }
        if ((await replaceThat({ name, ...after, ...before })).length > 0) return changed
      }
    },
  }
}
