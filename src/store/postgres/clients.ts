/** The client registry on PostgreSQL. A client is one record; every change raises the store's revision in the same statement. */
import { parseClientRecord } from '../../domain/model/client-record.ts'
import type { ClientStore } from '../../domain/model/operator-store.ts'
import type { Client } from '../../domain/model/records.ts'
import type { Connection } from './connection/connection.ts'
import { preparingConfirmation, raising } from './revision.ts'

type ClientRow = { record: string }

export function createClientStore(connection: Connection): ClientStore {
  const insert = connection.prepare(
    'once',
    raising('INSERT INTO clients (id, record, created_at) VALUES (:id, :record, :createdAt) ON CONFLICT (id) DO NOTHING'),
  )
  const replace = connection.prepare('move', raising('UPDATE clients SET record = :record WHERE id = :id'))
  const replaceThat = connection.prepare(
    'move',
    raising('UPDATE clients SET record = :record WHERE id = :id AND record = :before'),
  )
  const remove = connection.prepare('once', raising('DELETE FROM clients WHERE id = :id'))
  const confirm = preparingConfirmation(connection)
  const read = connection.prepare<ClientRow>('read', 'SELECT record FROM clients WHERE id = :id')
  const list = connection.prepare<ClientRow>('read', 'SELECT record FROM clients ORDER BY created_at, id')
  const page = connection.prepare<ClientRow>('read', 'SELECT record FROM clients WHERE id > :after ORDER BY id LIMIT :limit')
  return {
    insertClient: async (client) =>
      (await insert({ id: client.id, record: JSON.stringify(client), createdAt: client.createdAt })).length > 0
        ? 'inserted'
        : 'taken',
    replaceClient: async (client) =>
      (await replace({ id: client.id, record: JSON.stringify(client) })).length > 0 ? 'replaced' : 'unknown',
    async changeClient(clientId, toChange) {
      let mine: string | null = null
      for (;;) {
        const [row] = await read({ id: clientId })
        if (!row) return null
        // The record is already the one that this call wrote: only the answer was lost.
        if (row.record === mine) {
          await confirm()
          return clientOf(row)
        }
        const client = toChange(clientOf(row))
        mine = JSON.stringify(client)
        if ((await replaceThat({ id: clientId, before: row.record, record: mine })).length > 0) return client
      }
    },
    async deleteClient(clientId) {
      if ((await remove({ id: clientId })).length > 0) return 'deleted'
      await confirm()
      return 'unknown'
    },
    async readClient(clientId) {
      const [row] = await read({ id: clientId })
      return row ? clientOf(row) : null
    },
    listClients: async () => (await list()).map(clientOf),
    readClients: async (of) => (await page(of)).map(clientOf),
  }
}

function clientOf({ record }: ClientRow): Client {
  return parseClientRecord(record)
}
