import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { readClientTable } from '../../../src/domain/clients/client-table.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { test } from '../../support/fixtures.ts'

/** The store, and how many pages of clients were read. */
function counted({ clients, ...store }: Store) {
  const reads = { pages: 0 }
  const own: Store['clients'] = {
    ...clients,
    async readClients(page) {
      reads.pages++
      return clients.readClients(page)
    },
  }
  return { reads, store: { ...store, clients: own } }
}

test('The table of clients reads only the clients that changed, and all of them after more changes than the store lists', async ({
  grantor,
}) => {
  const { secret: _, ...record } = await grantor.createClient({ name: 'One' })
  const two = await grantor.createClient({ name: 'Two' })
  const { store, reads } = counted(grantor.store)
  const names = async () => [...((await readClientTable(store))?.values() ?? [])].map(({ name }) => name).toSorted()
  expect(await names()).toEqual(['One', 'Two'])
  const { pages } = reads
  await grantor.store.clients.changeClient(record.id, (client) => ({ ...client, name: 'First' }))
  await grantor.store.clients.insertClient({ ...record, id: randomUUID(), name: 'Three' })
  await grantor.store.clients.deleteClient(two.id)
  expect(await names()).toEqual(['First', 'Three'])
  expect(reads.pages).toBe(pages)
  for (let n = 0; n < 100; n++) await grantor.store.clients.insertClient({ ...record, id: randomUUID(), name: `${n}` })
  expect(await names()).toHaveLength(102)
  expect(reads.pages).toBe(pages + 1)
})
