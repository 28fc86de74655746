/** The origins whose scripts may read the token endpoint's responses. */
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../../src/domain/model/records.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { someClient } from '../../store/contract/subject.ts'
import { openDirectory, register } from '../../support/client-directory.ts'

test('Only the web origins of enabled public clients may read the token endpoint', async () => {
  const { directory, registry, state } = await openDirectory()
  await register(registry, { redirectUris: ['https://confidential.example/cb'] })
  await register(registry, { type: 'native', redirectUris: ['https://native.example/cb', 'com.example.app:/cb'] })
  await register(registry, { type: 'public', redirectUris: ['https://disabled.example/cb'], disabledAt: 1_800_000_000 })
  const spa = await register(registry, {
    type: 'public',
    redirectUris: ['https://SPA.example:443/cb', 'http://localhost:3000/a?b'],
  })
  const OPEN = ['https://spa.example', 'http://localhost:3000']
  const others = [
    'https://confidential.example',
    'https://native.example',
    'https://disabled.example',
    'https://SPA.example',
    'null',
    '',
  ]
  const answers = await Promise.all([...OPEN, ...others].map((origin) => directory.isPublicOrigin(origin)))
  expect(answers).toEqual([...OPEN.map(() => true), ...others.map(() => false)])
  expect(state.lookUps).toBe(1)
  await registry.deleteClient(spa.id)
  directory.forget([spa.id])
  for (const origin of OPEN) expect(await directory.isPublicOrigin(origin)).toBe(false)
})

describe('The origins of public clients follow each change of one client', () => {
  const origin = 'https://app.example'
  const spa: Partial<Client> = { type: 'public', redirectUris: [`${origin}/cb`] }

  test('An origin of two clients stays allowed until neither of them has it', async () => {
    const { directory, registry } = await openDirectory()
    const [one, two] = [await register(registry, { ...spa }), await register(registry, { ...spa })]
    expect(await directory.isPublicOrigin(origin)).toBe(true)
    await registry.replaceClient({ ...one, disabledAt: 1_800_000_000 })
    directory.forget([one.id])
    expect(await directory.isPublicOrigin(origin)).toBe(true)
    await registry.replaceClient({ ...two, redirectUris: ['https://moved.example/cb'] })
    directory.forget([two.id])
    expect(await directory.isPublicOrigin(origin)).toBe(false)
    expect(await directory.isPublicOrigin('https://moved.example')).toBe(true)
  })

  test('A change during the first read of the clients is not lost, neither of one client nor of all', async () => {
    for (const changed of ['one', 'everything'] as const) {
      const { directory, registry, hold } = await openDirectory()
      const client = await register(registry, { ...spa })
      const answer = hold()
      const early = directory.isPublicOrigin(origin)
      await new Promise((resolve) => setTimeout(resolve, 20))
      await registry.deleteClient(client.id)
      directory.forget(changed === 'one' ? [client.id] : changed)
      answer()
      await early
      expect({ changed, isPublic: await directory.isPublicOrigin(origin) }).toEqual({ changed, isPublic: false })
    }
  })

  test('A change whose read fails is read again at the next request', async () => {
    const { directory, registry, state } = await openDirectory()
    const client = await register(registry, { ...spa })
    expect(await directory.isPublicOrigin(origin)).toBe(true)
    await registry.deleteClient(client.id)
    directory.forget([client.id])
    state.answers = Promise.reject(new StoreUnavailable('away'))
    state.answers.catch(() => undefined)
    await expect(directory.isPublicOrigin(origin)).rejects.toBeInstanceOf(StoreUnavailable)
    state.answers = Promise.resolve()
    expect(await directory.isPublicOrigin(origin)).toBe(false)
  })
})

describe('A service with ten thousand clients', () => {
  const CLIENTS = 10_000

  /** All of them are public. A connection of the test inserts them, because each registration is a commit. */
  async function openFull() {
    const opened = await openDirectory()
    const first = await register(opened.registry, { type: 'public', redirectUris: ['https://first.example/cb'] })
    const database = new DatabaseSync(opened.path)
    const insert = database.prepare('INSERT INTO clients (id, record, created_at) VALUES (?, ?, 0)')
    database.exec('BEGIN')
    for (let number = 1; number < CLIENTS; number++) {
      const client = someClient({ type: 'public', redirectUris: [`https://app-${number}.example/cb`] })
      insert.run(client.id, JSON.stringify(client))
    }
    database.exec('COMMIT')
    database.close()
    return { ...opened, first }
  }

  test('The origins of ten thousand clients are read once in pages of 200, and then each change reads one client', async () => {
    const { directory, registry, state, first } = await openFull()
    for (const origin of ['https://first.example', 'https://app-9999.example'])
      expect(await directory.isPublicOrigin(origin)).toBe(true)
    expect(await directory.isPublicOrigin('https://stranger.example')).toBe(false)
    expect({ rows: state.rows, longestPage: state.longestPage }).toEqual({ rows: CLIENTS, longestPage: 200 })
    for (let change = 1; change <= 5; change++) {
      await registry.replaceClient({ ...first, name: `change ${change}` })
      directory.forget([first.id])
      expect(await directory.isPublicOrigin('https://first.example')).toBe(true)
      expect(state.rows).toBe(CLIENTS + change)
    }
  })

  test('A change of one client does not remove the other clients from memory', async () => {
    const { directory, registry, store, state, first } = await openFull()
    const clients = await store.clients.readClients({ after: '', limit: 1000 })
    for (const { id } of clients) await directory.find(id)
    const before = state.lookUps
    await registry.replaceClient({ ...first, name: 'renamed' })
    directory.forget([first.id])
    for (const { id } of clients) await directory.find(id)
    expect((await directory.find(first.id))?.name).toBe('renamed')
    expect(state.lookUps - before).toBe(1)
  })
})
