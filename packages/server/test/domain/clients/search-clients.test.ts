import { expect, test } from 'vitest'
import { SEARCHED_AT_MOST, searchClients } from '../../../src/domain/clients/search-clients.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'

/** Clients with the numbers 0 to `count` - 1, sorted by id. */
function storeWith(count: number) {
  const idOf = (n: number) => `${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`
  const clientOf = (n: number) => ({ id: idOf(n), name: `App ${n}` }) as Client
  const first = (after: string) => (after === '' ? 0 : Number.parseInt(after.slice(0, 8), 16) + 1)
  const clients = {
    readClient: async (id: string) => (first(id) <= count ? clientOf(first(id) - 1) : null),
    readClients: async ({ after, limit }: { after: string; limit: number }) =>
      Array.from({ length: Math.max(0, Math.min(limit, count - first(after))) }, (_, n) => clientOf(first(after) + n)),
  }
  return { store: { clients } as unknown as Pick<Store, 'clients'>, idOf }
}

test('A search finds names in any case, beyond the first page of the store, and goes on after a client', async () => {
  const { store, idOf } = storeWith(2000)
  const found = await searchClients(store, 'aPP 19', { limit: 3, after: '' })
  expect(Array.isArray(found) && found.map(({ name }) => name)).toEqual(['App 19', 'App 190', 'App 191'])
  const next = await searchClients(store, 'app 199', { limit: 20, after: idOf(199) })
  expect(Array.isArray(next) && next.length).toBe(10)
})

test('A search for a whole client id reads one client', async () => {
  const { store, idOf } = storeWith(10)
  expect(await searchClients(store, idOf(7), { limit: 5, after: '' })).toMatchObject([{ name: 'App 7' }])
  expect(await searchClients(store, idOf(70), { limit: 5, after: '' })).toEqual([])
})

test('A search that finds nothing among many clients stops, and says so', async () => {
  const { store } = storeWith(SEARCHED_AT_MOST + 1)
  expect(await searchClients(store, 'no such name', { limit: 5, after: '' })).toBe('too_many')
})
