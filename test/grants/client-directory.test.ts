import { expect, test } from 'vitest'
import { ClientDirectory } from '../../src/grants/client-directory.ts'
import type { Client } from '../../src/grants/model.ts'
import { type ClientBook, StoreUnavailable } from '../../src/grants/ports.ts'
import { someClient } from '../store/contract/subject.ts'
import { openTwoNodes } from '../store/sqlite-file.ts'
import { TestClock } from '../support/start.ts'

/** A directory on a real store; `lookUps` counts how often it asked the store, `hold` makes it wait for an answer. */
async function openDirectory() {
  const [store, other] = await openTwoNodes()
  const clock = new TestClock()
  const state = { lookUps: 0, answers: Promise.resolve() }
  const clients: ClientBook = {
    ...store.clients,
    async readClient(id) {
      state.lookUps++
      const client = await store.clients.readClient(id)
      await state.answers
      return client
    },
    async listClients() {
      state.lookUps++
      return store.clients.listClients()
    },
  }
  return {
    clock,
    state,
    store,
    registry: other.clients,
    directory: new ClientDirectory({ clients }, clock.now),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      state.answers = promise
      return resolve
    },
  }
}

async function register(registry: ClientBook, client: Partial<Client> = {}): Promise<Client> {
  const registered = someClient(client)
  await registry.insertClient(registered)
  return registered
}

test('a client is looked up once and then known, however long', async () => {
  const { directory, registry, state, clock } = await openDirectory()
  const client = await register(registry)
  for (let time = 0; time < 3; time++) {
    expect(await directory.find(client.id)).toEqual(client)
    clock.advance(86_400)
  }
  expect(state.lookUps).toBe(1)
})

test('a client that is known is there at once, and one that was changed is not', async () => {
  const { directory, registry } = await openDirectory()
  const client = await register(registry)
  expect(directory.findEnabled(client.id)).toBeInstanceOf(Promise)
  await directory.findEnabled(client.id)
  expect(directory.findEnabled(client.id)).toEqual(client)
  directory.forget()
  expect(directory.findEnabled(client.id)).toBeInstanceOf(Promise)
})

test('requests that arrive together share one look-up, for a client and for an id nobody has', async () => {
  const { directory, registry, state } = await openDirectory()
  const client = await register(registry)
  const found = await Promise.all(Array.from({ length: 50 }, () => directory.find(client.id)))
  expect(found).toEqual(Array.from({ length: 50 }, () => client))
  await Promise.all(Array.from({ length: 50 }, () => directory.find('nobody')))
  expect(state.lookUps).toBe(2)
})

test('an id nobody has is looked up before it is refused, and believed unknown for one second', async () => {
  const { directory, registry, state, clock } = await openDirectory()
  const client = someClient()
  expect(await directory.find(client.id)).toBeNull()
  await registry.insertClient(client)
  expect(await directory.find(client.id)).toBeNull()
  expect(state.lookUps).toBe(1)
  clock.advance(1)
  expect(await directory.find(client.id)).toEqual(client)
})

test('ids nobody has fill no memory: ten thousand are remembered, then it starts anew', async () => {
  const { directory, state } = await openDirectory()
  const ask = (number: number) => directory.find(`nobody-${number}`)
  await Promise.all(Array.from({ length: 10_000 }, (_, number) => ask(number)))
  await ask(0)
  expect(state.lookUps, 'remembered').toBe(10_000)
  await ask(10_000)
  await ask(0)
  expect(state.lookUps, 'forgotten').toBe(10_002)
})

test('a change is seen after it was noticed, also for an id that was unknown', async () => {
  const { directory, registry } = await openDirectory()
  const [client, newcomer] = [await register(registry), someClient()]
  await directory.find(client.id)
  await directory.find(newcomer.id)
  await registry.replaceClient({ ...client, name: 'renamed' })
  await registry.insertClient(newcomer)
  expect((await directory.find(client.id))?.name, 'before').toBe(client.name)
  directory.forget()
  expect((await directory.find(client.id))?.name).toBe('renamed')
  expect(await directory.find(newcomer.id)).toEqual(newcomer)
  await registry.deleteClient(client.id)
  directory.forget()
  expect(await directory.find(client.id)).toBeNull()
})

test('an answer under way when a change is noticed is not remembered: neither the old record nor the absence', async () => {
  const { directory, registry, state, hold } = await openDirectory()
  const [client, newcomer] = [await register(registry), someClient()]
  const answer = hold()
  const [early, absent] = [directory.find(client.id), directory.find(newcomer.id)]
  await new Promise((resolve) => setTimeout(resolve, 20))
  await registry.replaceClient({ ...client, name: 'renamed' })
  await registry.insertClient(newcomer)
  directory.forget()
  answer()
  expect([(await early)?.name, await absent]).toEqual([client.name, null])
  state.answers = Promise.resolve()
  expect((await directory.find(client.id))?.name).toBe('renamed')
  expect(await directory.find(newcomer.id)).toEqual(newcomer)
})

test('a disabled client is found, but may not act', async () => {
  const { directory, registry } = await openDirectory()
  const [enabled, disabled] = [await register(registry), await register(registry, { disabledAt: 1_800_000_000 })]
  expect(await directory.find(disabled.id)).toEqual(disabled)
  expect(await directory.findEnabled(disabled.id)).toBeNull()
  expect(await directory.findEnabled(enabled.id)).toEqual(enabled)
  expect(await directory.findEnabled('nobody')).toBeNull()
})

test('a store that cannot be read is told as such, never as an unknown client, and asked again the next time', async () => {
  const { directory, store, registry, state } = await openDirectory()
  const client = await register(registry)
  const known = await register(registry)
  await directory.find(known.id)
  await store.close()
  for (let time = 0; time < 2; time++) await expect(directory.find(client.id)).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(directory.publicOrigins()).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(directory.publicOrigins()).rejects.toBeInstanceOf(StoreUnavailable)
  expect(state.lookUps).toBe(5)
  expect(await directory.find(known.id), 'what is known stays known').toEqual(known)
})

test('origins that may read the token endpoint are those of enabled public clients’ web addresses', async () => {
  const { directory, registry, state } = await openDirectory()
  await register(registry, { redirectUris: ['https://confidential.example/cb'] })
  await register(registry, { type: 'native', redirectUris: ['https://native.example/cb', 'com.example.app:/cb'] })
  await register(registry, { type: 'public', redirectUris: ['https://disabled.example/cb'], disabledAt: 1_800_000_000 })
  const spa = await register(registry, {
    type: 'public',
    redirectUris: ['https://SPA.example:443/cb', 'http://localhost:3000/a?b'],
  })
  const both = await Promise.all([directory.publicOrigins(), directory.publicOrigins()])
  for (const origins of both) expect([...origins]).toEqual(['https://spa.example', 'http://localhost:3000'])
  expect(state.lookUps).toBe(1)
  await registry.deleteClient(spa.id)
  directory.forget()
  expect([...(await directory.publicOrigins())]).toEqual([])
})
