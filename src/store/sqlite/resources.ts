/** The registered resources on SQLite. A resource is one record; every change raises the store's revision in the same commit. */
import { RESOURCES_CHANGED } from '../../domain/model/changes.ts'
import { RESOURCES_AT_MOST, type ResourceStore } from '../../domain/model/operator-store.ts'
import type { Resource } from '../../domain/model/records.ts'
import type { Connection } from './connection.ts'
import { raiseRevision } from './revision.ts'

// Takes the lowest free number.
const INSERT = `
  INSERT INTO resources (uri, number, record)
  SELECT ?, min(used.number) + 1, ?
  FROM (SELECT 0 AS number UNION ALL SELECT number FROM resources) AS used
  WHERE NOT EXISTS (SELECT 1 FROM resources WHERE resources.number = used.number + 1)
  HAVING min(used.number) < ${RESOURCES_AT_MOST}`

export function createResourceStore(connection: Connection): ResourceStore {
  const insert = connection.prepareWrite(INSERT)
  const replace = connection.prepareWrite('UPDATE resources SET record = ? WHERE uri = ?')
  const remove = connection.prepareWrite('DELETE FROM resources WHERE uri = ?')
  const present = connection.prepareWrite('SELECT record FROM resources WHERE uri = ?')
  const read = connection.prepareRead('SELECT record FROM resources WHERE uri = ?')
  const list = connection.prepareRead('SELECT record FROM resources ORDER BY uri')
  const raiseForId = raiseRevision(connection)
  const raise = (): void => raiseForId(RESOURCES_CHANGED)
  return {
    insertResource: (resource) =>
      connection.write(() => {
        if (present.get(resource.uri)) return 'taken'
        if (insert.run(resource.uri, JSON.stringify(resource)).changes === 0) return 'full'
        raise()
        return 'inserted'
      }),
    changeResource: (uri, toChange) =>
      connection.write(() => {
        const row = present.get(uri)
        if (!row) return null
        const resource = toChange(resourceOf(row))
        replace.run(JSON.stringify(resource), uri)
        raise()
        return resource
      }),
    deleteResource: (uri) =>
      connection.write(() => {
        if (remove.run(uri).changes === 0) return 'unknown'
        raise()
        return 'deleted'
      }),
    readResource: (uri) =>
      connection.read(() => {
        const row = read.get(uri)
        return row ? resourceOf(row) : null
      }),
    listResources: () => connection.read(() => list.all().map(resourceOf)),
  }
}

function resourceOf(row: unknown): Resource {
  return JSON.parse((row as { record: string }).record) as Resource
}
