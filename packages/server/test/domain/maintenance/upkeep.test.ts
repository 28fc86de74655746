import { expect, test } from 'vitest'
import { ClientDirectory } from '../../../src/domain/clients/client-directory.ts'
import { type KeyKeeping, retireKey, rotateKey, WrongKeyEncryptionKey } from '../../../src/domain/maintenance/keep-keys.ts'
import { createUpkeep } from '../../../src/domain/maintenance/upkeep.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { someClient, someKey } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'
import { keepingOn } from '../../support/key-keeping.ts'
import { TestClock } from '../../support/start.ts'

const DAY = 86_400

/** What a node keeps in memory beside its store. */
function nodeOn(store: Store, clock: TestClock, more: Partial<KeyKeeping> = {}) {
  const ring = new KeyRing(clock.now)
  const clients = new ClientDirectory(store, clock.now)
  const keeping = keepingOn(store, clock, more)
  return { store, ring, clients, keeping, upkeep: createUpkeep(store, clients, ring, keeping) }
}

async function twoNodes() {
  const [store, other] = await openTwoNodes()
  const clock = new TestClock()
  const [here, there] = [nodeOn(store, clock), nodeOn(other, clock)]
  await here.upkeep.noticeChanges()
  await there.upkeep.noticeChanges()
  return { clock, here, there }
}

test('The first check for changes loads the keys, and creates the first key of each kind', async () => {
  const { here, there } = await twoNodes()
  expect(here.ring.isLoaded()).toBe(true)
  for (const kind of ['sign', 'seal', 'mac'] as const) expect(there.ring.maker(kind).id).toBe(here.ring.maker(kind).id)
})

test('A client that is changed on one node is changed on the other after its next check for changes', async () => {
  const { here, there } = await twoNodes()
  const client = someClient()
  await here.store.clients.insertClient(client)
  await there.upkeep.noticeChanges()
  expect(await there.clients.find(client.id)).toEqual(client)
  await here.store.clients.replaceClient({ ...client, disabledAt: 1_800_000_000 })
  expect(await there.clients.findEnabled(client.id)).toEqual(client)
  await there.upkeep.noticeChanges()
  expect(await there.clients.findEnabled(client.id)).toBeNull()
})

test('A key that one node creates is accepted by the other before any node uses it for new values', async () => {
  const { clock, here, there } = await twoNodes()
  const next = await rotateKey(here.keeping, 'seal')
  if (next === 'taken') throw new Error('taken')
  await there.upkeep.noticeChanges()
  expect(there.ring.opener('seal', next.id)?.id).toBe(next.id)
  expect(there.ring.maker('seal').id).not.toBe(next.id)
  clock.advance(60)
  expect(there.ring.maker('seal').id).toBe(next.id)
})

test('A key that is retired at once on one node is rejected by the other after its next check for changes', async () => {
  const { here, there } = await twoNodes()
  const leaked = here.ring.maker('mac').id
  await retireKey(here.keeping, leaked, { atOnce: true })
  await there.upkeep.noticeChanges()
  expect(there.ring.opener('mac', leaked)).toBeUndefined()
  expect(there.ring.maker('mac').id).not.toBe(leaked)
})

test('A check for changes that finds none costs one read', async () => {
  const [store, other] = await openTwoNodes()
  const calls: string[] = []
  const recording: Store = {
    ...store,
    keys: {
      ...store.keys,
      listKeys() {
        calls.push('keys')
        return store.keys.listKeys()
      },
    },
    readRevision() {
      calls.push('revision')
      return store.readRevision()
    },
  }
  const { upkeep } = nodeOn(recording, new TestClock())
  await upkeep.noticeChanges()
  // The keys that the node created itself are a change as well.
  await upkeep.noticeChanges()
  calls.length = 0
  for (let time = 0; time < 3; time++) await upkeep.noticeChanges()
  expect(calls).toEqual(['revision', 'revision', 'revision'])
  await other.clients.insertClient(someClient())
  await upkeep.noticeChanges()
  expect(calls).toEqual(['revision', 'revision', 'revision', 'revision', 'keys'])
})

test('Old keys get one successor of each kind for all nodes, which every node uses', async () => {
  const { clock, here, there } = await twoNodes()
  const before = here.ring.maker('sign').id
  clock.advance(90 * DAY)
  await Promise.all([here.upkeep.keepKeys(), there.upkeep.keepKeys(), here.upkeep.keepKeys()])
  await Promise.all([here.upkeep.noticeChanges(), there.upkeep.noticeChanges()])
  expect(await here.store.keys.listKeys()).toHaveLength(12)
  expect(here.ring.maker('sign').id).toBe(before)
  clock.advance(60)
  expect(here.ring.maker('sign').id).not.toBe(before)
  expect(there.ring.maker('sign').id).toBe(here.ring.maker('sign').id)
})

test('After 800 days of rotation there is one signing key, one sealing key and at most two MAC keys that are not retired', async () => {
  const { clock, here, there } = await twoNodes()
  for (let day = 0; day < 800; day += 10) {
    clock.advance(10 * DAY)
    await here.upkeep.keepKeys()
    clock.advance(60)
    await there.upkeep.keepKeys()
    await here.upkeep.noticeChanges()
  }
  const living = (await here.store.keys.listKeys()).filter((key) => key.retiredAt === null)
  const count = (kind: string): number => living.filter((key) => key.kind === kind).length
  expect([count('sign'), count('seal')]).toEqual([1, 1])
  expect(count('mac')).toBeLessThanOrEqual(2)
  for (const kind of ['sign', 'seal', 'mac'] as const) expect(here.ring.maker(kind).id).toBe(there.ring.maker(kind).id)
})

test('A node keeps its clients and keys while the store cannot be read, and catches up at its next check', async () => {
  const [store, other] = await openTwoNodes()
  const clock = new TestClock()
  const state = { down: false }
  const flaky: Store = {
    ...store,
    readRevision: () => (state.down ? Promise.reject(new Error('down')) : store.readRevision()),
  }
  const node = nodeOn(flaky, clock)
  await node.upkeep.noticeChanges()
  const client = someClient()
  await other.clients.insertClient(client)
  state.down = true
  await expect(node.upkeep.noticeChanges()).rejects.toThrow('down')
  expect(node.ring.isLoaded()).toBe(true)
  expect(() => node.ring.opener('mac', 'ffffffffff'), 'the id may belong to a key that was stored in the meantime').toThrow(
    StoreUnavailable,
  )
  state.down = false
  await node.upkeep.noticeChanges()
  expect(node.ring.opener('mac', 'ffffffffff')).toBeUndefined()
  expect(await node.clients.find(client.id)).toEqual(client)
})

test("A stored key that was wrapped with another secret fails every check for changes, and never empties a node's key ring", async () => {
  const { clock, here, there } = await twoNodes()
  const stranger = nodeOn(there.store, clock, { wrap: createKeyWrap('another-secret-that-is-long-enough-0123') })
  await expect(rotateKey(stranger.keeping, 'seal')).rejects.toBeInstanceOf(WrongKeyEncryptionKey)
  await here.store.keys.insertKey({ ...someKey({ kind: 'seal', number: 2 }), algorithm: 'AES-256-GCM' })
  const maker = here.ring.maker('seal').id
  for (let time = 0; time < 2; time++) await expect(here.upkeep.noticeChanges()).rejects.toBeInstanceOf(WrongKeyEncryptionKey)
  expect(() => here.ring.opener('seal', 'ffffffffff')).toThrow(StoreUnavailable)
  expect(here.ring.maker('seal').id).toBe(maker)
})
