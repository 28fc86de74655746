/** The registered resources on PostgreSQL. A resource is one record; every change raises the store's revision in the same statement. */
import { RESOURCES_CHANGED } from '../../domain/model/changes.ts'
import { RESOURCES_AT_MOST, type ResourceStore } from '../../domain/model/operator-store.ts'
import type { Resource } from '../../domain/model/records.ts'
import type { Connection } from './connection/connection.ts'
import { preparingConfirmation, raising } from './revision.ts'

type ResourceRow = { record: string }

// Takes the lowest free number. If another insert takes this number or this URI first, no row is inserted.
const INSERT = `
  INSERT INTO resources (uri, number, record)
  SELECT :uri, min(used.number) + 1, :record
  FROM (SELECT 0 AS number UNION ALL SELECT number FROM resources) AS used
  WHERE NOT EXISTS (SELECT FROM resources WHERE resources.number = used.number + 1)
  HAVING min(used.number) < ${RESOURCES_AT_MOST}
  ON CONFLICT DO NOTHING`

export function createResourceStore(connection: Connection): ResourceStore {
  const change = (statement: string) => raising(statement, `'${RESOURCES_CHANGED}'`)
  const insert = connection.prepare('once', change(INSERT))
  const replaceThat = connection.prepare(
    'move',
    change('UPDATE resources SET record = :record WHERE uri = :uri AND record = :before'),
  )
  const remove = connection.prepare('once', change('DELETE FROM resources WHERE uri = :uri'))
  const confirm = preparingConfirmation(connection)
  const read = connection.prepare<ResourceRow>('read', 'SELECT record FROM resources WHERE uri = :uri')
  const count = connection.prepare<{ resources: number }>('read', 'SELECT count(*)::integer AS resources FROM resources')
  const list = connection.prepare<ResourceRow>('read', 'SELECT record FROM resources ORDER BY uri')
  return {
    async insertResource(resource) {
      const { uri } = resource
      for (;;) {
        if ((await insert({ uri, record: JSON.stringify(resource) })).length > 0) return 'inserted'
        if ((await read({ uri })).length > 0) return 'taken'
        const [row] = await count()
        if ((row?.resources ?? 0) >= RESOURCES_AT_MOST) return 'full'
      }
    },
    async changeResource(uri, toChange) {
      let mine: string | null = null
      for (;;) {
        const [row] = await read({ uri })
        if (!row) return null
        // The record is already the one that this call wrote: only the answer was lost.
        if (row.record === mine) {
          await confirm()
          return resourceOf(row)
        }
        const resource = toChange(resourceOf(row))
        mine = JSON.stringify(resource)
        if ((await replaceThat({ uri, before: row.record, record: mine })).length > 0) return resource
      }
    },
    async deleteResource(uri) {
      if ((await remove({ uri })).length > 0) return 'deleted'
      await confirm()
      return 'unknown'
    },
    async readResource(uri) {
      const [row] = await read({ uri })
      return row ? resourceOf(row) : null
    },
    listResources: async () => (await list()).map(resourceOf),
  }
}

function resourceOf({ record }: ResourceRow): Resource {
  return JSON.parse(record) as Resource
}
