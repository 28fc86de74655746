/** The client registry on SQLite. A client is one record; every change raises the store's revision in the same commit. */
import { parseClientRecord } from '../../domain/model/client-record.ts'
import type { ClientStore } from '../../domain/model/operator-store.ts'
import type { Client } from '../../domain/model/records.ts'
import type { Connection } from './connection.ts'
import { raiseRevision } from './revision.ts'

export function createClientStore(connection: Connection): ClientStore {
  const insert = connection.prepareWrite(
    'INSERT INTO clients (id, record, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
  )
  const replace = connection.prepareWrite('UPDATE clients SET record = ? WHERE id = ?')
  const remove = connection.prepareWrite('DELETE FROM clients WHERE id = ?')
  const raise = raiseRevision(connection)
  const read = connection.prepareRead('SELECT record FROM clients WHERE id = ?')
  const present = connection.prepareWrite('SELECT record FROM clients WHERE id = ?')
  const list = connection.prepareRead('SELECT record FROM clients ORDER BY created_at, id')
  const page = connection.prepareRead('SELECT record FROM clients WHERE id > ? ORDER BY id LIMIT ?')
  /** Runs a change, and raises the revision if a row changed. */
  const change = (id: string, run: () => { changes: number | bigint }): Promise<boolean> =>
    connection.write(() => {
      const changed = run().changes > 0
      if (changed) raise(id)
      return changed
    })
  return {
    insertClient: async (client) =>
      (await change(client.id, () => insert.run(client.id, JSON.stringify(client), client.createdAt))) ? 'inserted' : 'taken',
    replaceClient: async (client) =>
      (await change(client.id, () => replace.run(JSON.stringify(client), client.id))) ? 'replaced' : 'unknown',
    changeClient: (clientId, toChange) =>
      connection.write(() => {
        const row = present.get(clientId)
        if (!row) return null
        const client = toChange(clientOf(row))
        replace.run(JSON.stringify(client), clientId)
        raise(clientId)
        return client
      }),
    deleteClient: async (clientId) => ((await change(clientId, () => remove.run(clientId))) ? 'deleted' : 'unknown'),
    readClient: (clientId) =>
      connection.read(() => {
        const row = read.get(clientId)
        return row ? clientOf(row) : null
      }),
    listClients: () => connection.read(() => list.all().map(clientOf)),
    readClients: ({ after, limit }) => connection.read(() => page.all(after, limit).map(clientOf)),
  }
}

function clientOf(row: unknown): Client {
  return parseClientRecord((row as { record: string }).record)
}
