/** A change of GRANTOR_SECRET: the stored keys are wrapped with the new secret instead of the previous one. */
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import {
  type KeyKeeping,
  keepKeys,
  retireKey,
  rewrapKeys,
  rotateKey,
  WrongKeyEncryptionKey,
} from '../../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import type { KeyRecord, KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { keepingOn, loadRing, openKeyStore } from '../../support/key-keeping.ts'
import { TEST_SECRET, type TestClock } from '../../support/start.ts'

const DAY = 86_400

let path: string
let store: Store
let clock: TestClock
let keeping: KeyKeeping

beforeEach(async () => {
  ;({ path, clock, store, keeping } = await openKeyStore())
})

const NEW_SECRET = 'the-secret-that-replaces-it-0123456789ab'
const withBothSecrets = (): KeyKeeping => keepingOn(store, clock, { wrap: createKeyWrap(NEW_SECRET, TEST_SECRET) })
const withNewSecret = (): KeyKeeping => keepingOn(store, clock, { wrap: createKeyWrap(NEW_SECRET) })
const idsOf = (ring: KeyRing): string[] => (['sign', 'seal', 'mac'] as const).map((kind) => ring.maker(kind).id)

/** Rewraps the keys, and returns the ids of those that changed. */
async function rewrap(from: KeyKeeping): Promise<{ rewrapped: string[]; current: number; left: number }> {
  const rewrapped: string[] = []
  return { ...(await rewrapKeys(from, ({ id }) => rewrapped.push(id))), rewrapped }
}

test('After a rewrap every key that is not retired opens with the new secret alone, and a second rewrap changes nothing', async () => {
  const before = idsOf(await loadRing(keeping))
  await rotateKey(keeping, 'sign')
  await rotateKey(keeping, 'seal', 0)
  await retireKey(keeping, before[1] ?? '', { atOnce: true })
  expect(await rewrap(withBothSecrets())).toMatchObject({ rewrapped: { length: 7 }, current: 7, left: 0 })
  expect(await rewrap(withBothSecrets())).toEqual({ rewrapped: [], current: 7, left: 0 })
  expect(await rewrap(withNewSecret())).toEqual({ rewrapped: [], current: 7, left: 0 })
  const ring = await loadRing(withNewSecret())
  expect(ring.opener('sign', before[0] ?? '')?.id).toBe(before[0])
  expect(ring.opener('mac', before[2] ?? '')?.id).toBe(before[2])
  expect(ring.opener('seal', before[1] ?? ''), 'it was retired').toBeUndefined()
})

test('A node with both secrets and a node with the new one load the same keys, before and after a rewrap', async () => {
  const before = idsOf(await loadRing(keeping))
  expect(idsOf(await loadRing(withBothSecrets()))).toEqual(before)
  await rewrap(withBothSecrets())
  expect(idsOf(await loadRing(withBothSecrets()))).toEqual(before)
  expect(idsOf(await loadRing(withNewSecret()))).toEqual(before)
})

test('If a rewrap is interrupted, every key opens with both secrets, and the next rewrap completes it', async () => {
  const before = idsOf(await loadRing(keeping))
  const database = new DatabaseSync(path)
  database.exec(
    `CREATE TRIGGER break_off BEFORE UPDATE ON keys WHEN old.kind = 'seal' BEGIN SELECT RAISE(ABORT, 'broken off'); END`,
  )
  await expect(rewrap(withBothSecrets())).rejects.toThrow('broken off')
  expect(idsOf(await loadRing(withBothSecrets()))).toEqual(before)
  database.exec('DROP TRIGGER break_off')
  database.close()
  expect(await rewrap(withBothSecrets())).toMatchObject({ current: 6, left: 0 })
  expect(idsOf(await loadRing(withNewSecret()))).toEqual(before)
})

test('Two rewraps and a retirement at once wrap every other key once, and do not restore the retired key', async () => {
  const retired = (await loadRing(keeping)).maker('sign').id
  await rotateKey(keeping, 'sign', 0)
  const [one, two] = await Promise.all([
    rewrap(withBothSecrets()),
    rewrap(withBothSecrets()),
    store.keys.retireKey(retired, 'sign', clock.now()),
  ])
  const ids = [...one.rewrapped, ...two.rewrapped]
  expect(new Set(ids).size).toBe(ids.length)
  const ring = await loadRing(withNewSecret())
  expect(ring.opener('sign', retired)).toBeUndefined()
  expect(idsOf(ring)).not.toContain(retired)
})

test('A key that a node with the previous secret creates during a rewrap is reported, and the next rewrap wraps it', async () => {
  await loadRing(keeping)
  const { keys } = store
  const late: Store['keys'] = {
    ...keys,
    async listKeys() {
      const records = await keys.listKeys()
      if (records.length === 6) await keys.insertKey({ ...(records[0] as KeyRecord), ...lateKey })
      return records
    },
  }
  const lateKey = {
    id: 'ffffffffff',
    number: 2,
    wrapped: createKeyWrap(TEST_SECRET).wrap(new Uint8Array(32), 'ffffffffff', 'mac'),
  }
  expect(await rewrap({ ...withBothSecrets(), store: late })).toMatchObject({ rewrapped: { length: 6 }, current: 6, left: 1 })
  expect(await rewrap(withBothSecrets())).toMatchObject({ rewrapped: { length: 1 }, current: 7, left: 0 })
})

test('After a rewrap, a node with the previous secret alone creates no key, neither at its start nor because of age', async () => {
  const ring = await loadRing(keeping)
  await rewrap(withBothSecrets())
  const before = await store.keys.listKeys()
  clock.advance(90 * DAY)
  await expect(loadRing(keeping)).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(keepKeys(keeping)).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(rotateKey(keeping, 'sign')).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(retireKey(keeping, ring.maker('mac').id, { atOnce: true })).rejects.toThrow(WrongKeyEncryptionKey)
  expect(await store.keys.listKeys()).toEqual(before)
})

test('A node with a wrong secret does not create a key of a kind that is missing', async () => {
  await loadRing(keeping)
  const database = new DatabaseSync(path)
  database.exec("DELETE FROM keys WHERE kind = 'mac'")
  database.close()
  await expect(loadRing(withNewSecret())).rejects.toThrow(WrongKeyEncryptionKey)
  expect(await store.keys.listKeys()).toHaveLength(5)
})
