/** GRANTOR_SECRET is changed: the stored keys move from the previous secret to the new one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type KeyKeeping,
  keepKeys,
  loadKeys,
  retireKey,
  rewrapKeys,
  rotateKey,
  WrongKeyEncryptionKey,
} from '../../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import type { KeyRecord } from '../../../src/keys/key-ring.ts'
import { KeyRing } from '../../../src/keys/key-ring.ts'
import { createKeyWrap } from '../../../src/keys/key-wrap.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { LIFETIMES, TEST_SECRET, TestClock } from '../../support/start.ts'

const DAY = 86_400

let folder: string
let path: string
let store: Store
let clock: TestClock
let keeping: KeyKeeping

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grantor-keys-'))
  path = join(folder, 'grantor.sqlite')
  clock = new TestClock()
  await migrateSqlite(path, clock.now())
  store = openSqliteStore(path)
  keeping = keepingOn(store)
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

function keepingOn({ keys }: Store, secret = TEST_SECRET, previous?: string): KeyKeeping {
  const lifetimes = LIFETIMES
  return {
    store: keys,
    wrap: createKeyWrap(secret, previous),
    signingAlgorithm: 'ES256',
    rotateAfter: 90 * DAY,
    lifetimes,
    now: clock.now,
  }
}

async function loaded(from = keeping): Promise<KeyRing> {
  const ring = new KeyRing(clock.now)
  await loadKeys(from, ring)
  return ring
}

const NEW_SECRET = 'the-secret-that-replaces-it-0123456789ab'
const changing = (): KeyKeeping => keepingOn(store, NEW_SECRET, TEST_SECRET)
const after = (): KeyKeeping => keepingOn(store, NEW_SECRET)
const idsOf = (ring: KeyRing): string[] => (['sign', 'seal', 'mac'] as const).map((kind) => ring.maker(kind).id)

/** Rewraps, and says which keys were wrapped anew. */
async function rewrap(from: KeyKeeping): Promise<{ rewrapped: string[]; current: number; left: number }> {
  const rewrapped: string[] = []
  return { ...(await rewrapKeys(from, ({ id }) => rewrapped.push(id))), rewrapped }
}

test('every living key opens with the new secret alone after a rewrap, and a second rewrap finds nothing to do', async () => {
  const before = idsOf(await loaded())
  await rotateKey(keeping, 'sign')
  await rotateKey(keeping, 'seal', 0)
  await retireKey(keeping, before[1] ?? '', true)
  expect(await rewrap(changing())).toMatchObject({ rewrapped: { length: 7 }, current: 7, left: 0 })
  expect(await rewrap(changing())).toEqual({ rewrapped: [], current: 7, left: 0 })
  expect(await rewrap(after())).toEqual({ rewrapped: [], current: 7, left: 0 })
  const ring = await loaded(after())
  expect(ring.opener('sign', before[0] ?? '')?.id).toBe(before[0])
  expect(ring.opener('mac', before[2] ?? '')?.id).toBe(before[2])
  expect(ring.opener('seal', before[1] ?? ''), 'it was retired').toBeUndefined()
})

test('a node with both secrets and a node with the new one agree on every key, before, during and after', async () => {
  const before = idsOf(await loaded())
  expect(idsOf(await loaded(changing()))).toEqual(before)
  await rewrap(changing())
  expect(idsOf(await loaded(changing()))).toEqual(before)
  expect(idsOf(await loaded(after()))).toEqual(before)
})

test('a rewrap that breaks off leaves every key readable with both secrets, and the next one ends what it began', async () => {
  const before = idsOf(await loaded())
  const database = new DatabaseSync(path)
  database.exec(
    `CREATE TRIGGER break_off BEFORE UPDATE ON keys WHEN old.kind = 'seal' BEGIN SELECT RAISE(ABORT, 'broken off'); END`,
  )
  await expect(rewrap(changing())).rejects.toThrow('broken off')
  expect(idsOf(await loaded(changing()))).toEqual(before)
  database.exec('DROP TRIGGER break_off')
  database.close()
  expect(await rewrap(changing())).toMatchObject({ current: 6, left: 0 })
  expect(idsOf(await loaded(after()))).toEqual(before)
})

test('two rewraps and a retirement at once wrap every other key once, and bring no retired key back', async () => {
  const retired = (await loaded()).maker('sign').id
  await rotateKey(keeping, 'sign', 0)
  const [one, two] = await Promise.all([
    rewrap(changing()),
    rewrap(changing()),
    store.keys.retireKey(retired, 'sign', clock.now()),
  ])
  const ids = [...one.rewrapped, ...two.rewrapped]
  expect(new Set(ids).size).toBe(ids.length)
  const ring = await loaded(after())
  expect(ring.opener('sign', retired)).toBeUndefined()
  expect(idsOf(ring)).not.toContain(retired)
})

test('a key that a node with the previous secret alone makes meanwhile is reported, and the next rewrap takes it', async () => {
  await loaded()
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
  expect(await rewrap({ ...changing(), store: late })).toMatchObject({ rewrapped: { length: 6 }, current: 6, left: 1 })
  expect(await rewrap(changing())).toMatchObject({ rewrapped: { length: 1 }, current: 7, left: 0 })
})

test('a node with the previous secret alone makes no key once keys were rewrapped: neither at its start nor by age', async () => {
  const ring = await loaded()
  await rewrap(changing())
  const before = await store.keys.listKeys()
  clock.advance(90 * DAY)
  await expect(loaded()).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(keepKeys(keeping)).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(rotateKey(keeping, 'sign')).rejects.toThrow(WrongKeyEncryptionKey)
  await expect(retireKey(keeping, ring.maker('mac').id, true)).rejects.toThrow(WrongKeyEncryptionKey)
  expect(await store.keys.listKeys()).toEqual(before)
})

test('a wrong secret makes no key of a kind that is missing', async () => {
  await loaded()
  const database = new DatabaseSync(path)
  database.exec("DELETE FROM keys WHERE kind = 'mac'")
  database.close()
  await expect(loaded(after())).rejects.toThrow(WrongKeyEncryptionKey)
  expect(await store.keys.listKeys()).toHaveLength(5)
})
