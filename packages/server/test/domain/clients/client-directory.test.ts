import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { someClient } from '../../store/contract/subject.ts'
import { openDirectory, register } from '../../support/client-directory.ts'

test('A client is read from the store once and then served from memory, however long ago that was', async () => {
  const { directory, registry, state, clock } = await openDirectory()
  const client = await register(registry)
  for (let time = 0; time < 3; time++) {
    expect(await directory.find(client.id)).toEqual(client)
    clock.advance(86_400)
  }
  expect(state.lookUps).toBe(1)
})

test('A client in memory is returned without waiting, and a changed one is read again', async () => {
  const { directory, registry } = await openDirectory()
  const client = await register(registry)
  expect(directory.findEnabled(client.id)).toBeInstanceOf(Promise)
  await directory.findEnabled(client.id)
  expect(directory.findEnabled(client.id)).toEqual(client)
  directory.forget([client.id])
  expect(directory.findEnabled(client.id)).toBeInstanceOf(Promise)
})

test('Concurrent requests for one client, or for one unknown id, share one read', async () => {
  const { directory, registry, state } = await openDirectory()
  const client = await register(registry)
  const unknown = randomUUID()
  const found = await Promise.all(Array.from({ length: 50 }, () => directory.find(client.id)))
  expect(found).toEqual(Array.from({ length: 50 }, () => client))
  await Promise.all(Array.from({ length: 50 }, () => directory.find(unknown)))
  expect(state.lookUps).toBe(2)
})

test('An unknown client id is read from the store before it is refused, and stays refused for one second', async () => {
  const { directory, registry, state, clock } = await openDirectory()
  const client = someClient()
  expect(await directory.find(client.id)).toBeNull()
  await registry.insertClient(client)
  expect(await directory.find(client.id)).toBeNull()
  expect(state.lookUps).toBe(1)
  clock.advance(1)
  expect(await directory.find(client.id)).toEqual(client)
})

test('The memory of unknown client ids is bounded: after ten thousand it is cleared', async () => {
  const { directory, state } = await openDirectory()
  const ids = Array.from({ length: 10_001 }, () => randomUUID())
  const ask = (number: number) => directory.find(ids[number] ?? '')
  await Promise.all(Array.from({ length: 10_000 }, (_, number) => ask(number)))
  await ask(0)
  expect(state.lookUps, 'remembered').toBe(10_000)
  await ask(10_000)
  await ask(0)
  expect(state.lookUps, 'forgotten').toBe(10_002)
})

test('A changed client is read again once the change is noticed, and so is an id that was unknown', async () => {
  const { directory, registry } = await openDirectory()
  const [client, newcomer] = [await register(registry), someClient()]
  await directory.find(client.id)
  await directory.find(newcomer.id)
  await registry.replaceClient({ ...client, name: 'renamed' })
  await registry.insertClient(newcomer)
  expect((await directory.find(client.id))?.name, 'before').toBe(client.name)
  directory.forget([client.id, newcomer.id])
  expect((await directory.find(client.id))?.name).toBe('renamed')
  expect(await directory.find(newcomer.id)).toEqual(newcomer)
  await registry.deleteClient(client.id)
  directory.forget([client.id, newcomer.id])
  expect(await directory.find(client.id)).toBeNull()
})

test('A read that is under way when a change is noticed is not kept, neither the old client nor the missing one', async () => {
  const { directory, registry, state, hold } = await openDirectory()
  const [client, newcomer] = [await register(registry), someClient()]
  const answer = hold()
  const [early, absent] = [directory.find(client.id), directory.find(newcomer.id)]
  await new Promise((resolve) => setTimeout(resolve, 20))
  await registry.replaceClient({ ...client, name: 'renamed' })
  await registry.insertClient(newcomer)
  directory.forget([client.id, newcomer.id])
  answer()
  expect([(await early)?.name, await absent]).toEqual([client.name, null])
  state.answers = Promise.resolve()
  expect((await directory.find(client.id))?.name).toBe('renamed')
  expect(await directory.find(newcomer.id)).toEqual(newcomer)
})

test('A disabled client can be found, but is not returned as an enabled client', async () => {
  const { directory, registry } = await openDirectory()
  const [enabled, disabled] = [await register(registry), await register(registry, { disabledAt: 1_800_000_000 })]
  expect(await directory.find(disabled.id)).toEqual(disabled)
  expect(await directory.findEnabled(disabled.id)).toBeNull()
  expect(await directory.findEnabled(enabled.id)).toEqual(enabled)
  expect(await directory.findEnabled(randomUUID())).toBeNull()
})

test('If the store cannot be read, an unknown client id fails with StoreUnavailable and is read again at the next request', async () => {
  const { directory, store, registry, state } = await openDirectory()
  const client = await register(registry)
  const known = await register(registry)
  await directory.find(known.id)
  await store.close()
  for (let time = 0; time < 2; time++) await expect(directory.find(client.id)).rejects.toBeInstanceOf(StoreUnavailable)
  for (let time = 0; time < 2; time++)
    await expect(directory.isPublicOrigin('https://app.example')).rejects.toBeInstanceOf(StoreUnavailable)
  expect(state.lookUps).toBe(5)
  expect(await directory.find(known.id), 'a client in memory is still returned').toEqual(known)
})

test.each([
  '',
  'unknown',
  'x'.repeat(15_000),
  '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a2',
  '0F8C9A3E-4F0B-4C8E-9A51-5B1C3E9D7A20',
  ' 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
  '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20\0',
  '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20\n',
  'https://client.example/metadata.json',
])('An id that no client can have is refused without a read: %.40j', async (id) => {
  const { directory, state } = await openDirectory()
  expect(await directory.find(id)).toBeNull()
  expect(await directory.findEnabled(id)).toBeNull()
  expect(state.lookUps).toBe(0)
})

test('Ten thousand unknown ids, each cut from a request of 15 kB, use less than 5 MB of memory', async () => {
  const { directory, registry } = await openDirectory()
  const client = await register(registry)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const cutOut = (id: string, number: number): string =>
    `${number} ${id}${'x'.repeat(15_000)}`.slice(String(number).length + 1).slice(0, 36)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let number = 0; number < 10_000; number++) {
    expect(await directory.find(cutOut(randomUUID(), number))).toBeNull()
    // The id of a registered client is cut from a request as well.
    if (number % 100 === 0) directory.forget([client.id])
    if (number % 100 === 0) expect(await directory.find(cutOut(client.id, number))).not.toBeNull()
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000)
  expect(await directory.find(client.id), 'the directory is still in use').toEqual(client)
})
