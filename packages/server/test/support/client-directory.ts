/** A directory of clients on a real store, which counts its reads. */
import { ClientDirectory } from '../../src/domain/clients/client-directory.ts'
import type { ClientStore } from '../../src/domain/model/operator-store.ts'
import type { Client } from '../../src/domain/model/records.ts'
import { someClient } from '../store/contract/subject.ts'
import { newSqlitePath, openTwoNodes } from '../store/sqlite-file.ts'
import { TestClock } from './start.ts'

/** `lookUps`: the number of reads of the store. `rows`: the number of clients read. `hold` delays the responses of the store. */
export async function openDirectory() {
  const path = await newSqlitePath()
  const [store, other] = await openTwoNodes(path)
  const clock = new TestClock()
  const state = { lookUps: 0, rows: 0, longestPage: 0, answers: Promise.resolve() }
  const clients: ClientStore = {
    ...store.clients,
    async readClient(id) {
      state.lookUps++
      const client = await store.clients.readClient(id)
      state.rows++
      await state.answers
      return client
    },
    async readClients(page) {
      state.lookUps++
      const clients = await store.clients.readClients(page)
      state.rows += clients.length
      state.longestPage = Math.max(state.longestPage, clients.length)
      await state.answers
      return clients
    },
    listClients: () => Promise.reject(new Error('nothing that serves requests reads all clients at once')),
  }
  return {
    clock,
    state,
    store,
    registry: other.clients,
    path,
    directory: new ClientDirectory({ clients }, clock.now),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      state.answers = promise
      return resolve
    },
  }
}

export async function register(registry: ClientStore, client: Partial<Client> = {}): Promise<Client> {
  const registered = someClient(client)
  await registry.insertClient(registered)
  return registered
}
