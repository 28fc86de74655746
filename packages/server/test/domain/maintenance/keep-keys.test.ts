import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type KeyKeeping,
  keepKeys,
  keyState,
  loadKeys,
  opensUntil,
  retireKey,
  rotateKey,
  WrongKeyEncryptionKey,
} from '../../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { type KeyKind, type KeyRecord, KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { createKeyWrap } from '../../../src/protocol/keys/key-wrap.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { keepingOn, keysOf, loadRing, openKeyStore, statesOf } from '../../support/key-keeping.ts'
import { LIFETIMES, TEST_SECRET, type TestClock } from '../../support/start.ts'

const DAY = 86_400

let path: string
let store: Store
let clock: TestClock
let keeping: KeyKeeping

beforeEach(async () => {
  ;({ path, clock, store, keeping } = await openKeyStore())
})

const makerOf = async (kind: KeyKind): Promise<string> => (await loadRing(keeping)).maker(kind).id

async function onlyKey(kind: KeyKind): Promise<KeyRecord> {
  const [key, ...more] = await keysOf(keeping, kind)
  if (!key || more.length > 0) throw new Error(`expected one ${kind} key`)
  return key
}

describe('The first key of each kind', () => {
  test('The first start creates a key of each kind, which is in use at once', async () => {
    const ring = await loadRing(keeping)
    expect(ring.isLoaded()).toBe(true)
    for (const kind of ['sign', 'seal', 'mac'] as const) expect(await statesOf(keeping, kind)).toEqual(['makes'])
  })

  test('Every later start uses the keys of the first start, also if the clock is set back', async () => {
    const ids = async (): Promise<string[]> => (await store.keys.listKeys()).map(({ id }) => id)
    await loadRing(keeping)
    const before = await ids()
    clock.advance(-DAY)
    const ring = await loadRing(keeping)
    expect(await ids()).toEqual(before)
    expect(ring.maker('sign').id).toBe((await onlyKey('sign')).id)
  })

  test('Four nodes that start on one store at once create one key of each kind', async () => {
    const others = [openSqliteStore(path), openSqliteStore(path), openSqliteStore(path)]
    const rings = await Promise.all([store, ...others].map((each) => loadRing(keepingOn(each, clock))))
    for (const kind of ['sign', 'seal', 'mac'] as const) {
      const { id } = await onlyKey(kind)
      expect(rings.map((ring) => ring.maker(kind).id)).toEqual([id, id, id, id])
    }
    await Promise.all(others.map((each) => each.close()))
  })
})

describe('Keys at rest', () => {
  test('Stored keys open only with the secret that wrapped them; a start with another secret is refused', async () => {
    await loadRing(keeping)
    for (const secret of [`${TEST_SECRET}x`, TEST_SECRET.slice(1), 'another-secret-that-is-long-enough-0123']) {
      await expect(loadRing(keepingOn(store, clock, { wrap: createKeyWrap(secret) }))).rejects.toThrow(WrongKeyEncryptionKey)
    }
    expect((await store.keys.listKeys()).length).toBe(6)
    await loadRing(keeping)
  })

  test('The material of a stored key cannot be moved to another row: it is bound to its id and kind', async () => {
    await loadRing(keeping)
    const database = new DatabaseSync(path)
    database.exec("UPDATE keys SET wrapped = (SELECT wrapped FROM keys WHERE kind = 'mac') WHERE kind = 'seal'")
    database.close()
    await expect(loadRing(keeping)).rejects.toThrow(WrongKeyEncryptionKey)
  })

  test.each([0, 12, 40])('A stored key with one bit changed at byte %i is refused', async (byte) => {
    await loadRing(keeping)
    const { id, wrapped } = await onlyKey('sign')
    const changed = Uint8Array.from(wrapped ?? [])
    changed[byte] = (changed[byte] ?? 0) ^ 1
    const database = new DatabaseSync(path)
    database.prepare('UPDATE keys SET wrapped = ? WHERE id = ?').run(changed, id)
    database.close()
    await expect(loadRing(keeping)).rejects.toThrow(WrongKeyEncryptionKey)
  })
})

describe('Rotating a key', () => {
  test.each(['sign', 'seal', 'mac'] as const)(
    'A rotated key of kind %s is announced for 60 seconds before it is used',
    async (kind) => {
      const first = await makerOf(kind)
      const next = (await rotateKey(keeping, kind)) as KeyRecord
      expect(await statesOf(keeping, kind)).toEqual(['makes', 'announced'])
      expect((await loadRing(keeping)).opener(kind, next.id)?.id).toBe(next.id)
      clock.advance(59)
      expect(await makerOf(kind)).toBe(first)
      clock.advance(1)
      expect(await makerOf(kind)).toBe(next.id)
      expect(await statesOf(keeping, kind)).toEqual(['opens', 'makes'])
    },
  )

  test('A key ring that has loaded the announced key switches to it without a reload', async () => {
    const ring = new KeyRing(clock.now)
    await loadKeys(keeping, ring)
    const next = (await rotateKey(keeping, 'sign')) as KeyRecord
    await loadKeys(keeping, ring)
    clock.advance(60)
    expect(ring.maker('sign').id).toBe(next.id)
  })

  test('Two nodes that rotate a key at once create one successor', async () => {
    await loadRing(keeping)
    const other = openSqliteStore(path)
    const outcomes = await Promise.all([rotateKey(keeping, 'sign'), rotateKey(keepingOn(other, clock), 'sign')])
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1)
    expect(await statesOf(keeping, 'sign')).toEqual(['makes', 'announced'])
    await other.close()
  })
})

describe('Rotation by age', () => {
  test('A key that is 90 days old gets one successor', async () => {
    await loadRing(keeping)
    clock.advance(90 * DAY - 1)
    await keepKeys(keeping)
    expect(await statesOf(keeping, 'sign')).toEqual(['makes'])
    clock.advance(1)
    for (let time = 0; time < 3; time++) await keepKeys(keeping)
    for (const kind of ['sign', 'seal', 'mac'] as const) expect(await statesOf(keeping, kind)).toEqual(['makes', 'announced'])
  })

  test.each([
    ['sign', 600],
    ['seal', 30 * DAY],
    ['mac', 30 * DAY],
  ] as const)(
    'The old %s key stays valid until everything that was made with it has expired, and is then retired',
    async (kind, life) => {
      await loadRing(keeping)
      const old = await onlyKey(kind)
      await rotateKey(keeping, kind)
      clock.advance(60 + life)
      await keepKeys(keeping)
      expect((await loadRing(keeping)).opener(kind, old.id)?.id).toBe(old.id)
      clock.advance(60)
      await keepKeys(keeping)
      expect((await loadRing(keeping)).opener(kind, old.id)).toBeUndefined()
      expect((await statesOf(keeping, kind)).at(0)).toBe('retired')
      expect((await store.keys.listKeys()).find(({ id }) => id === old.id)?.wrapped).toBe(null)
    },
  )

  test('If another signing algorithm is configured, a key for it is announced and then used; the old key still verifies', async () => {
    await loadRing(keeping)
    const old = await onlyKey('sign')
    await keepKeys({ ...keeping, signingAlgorithm: 'EdDSA' })
    expect((await loadRing(keeping)).maker('sign').algorithm).toBe('ES256')
    clock.advance(60)
    const ring = await loadRing(keeping)
    expect(ring.maker('sign').algorithm).toBe('EdDSA')
    expect(ring.opener('sign', old.id)?.algorithm).toBe('ES256')
  })
})

describe('Retiring a key by hand', () => {
  test('A key that is in use, or whose products may be valid, is not retired, and retiring an unknown key reads as unknown', async () => {
    await loadRing(keeping)
    const { id } = await onlyKey('sign')
    expect(await retireKey(keeping, 'unknown', { atOnce: false })).toEqual({ kind: 'unknown' })
    expect(await retireKey(keeping, id, { atOnce: false })).toEqual({ kind: 'still_makes' })
    await rotateKey(keeping, 'sign')
    expect(await retireKey(keeping, id, { atOnce: false })).toEqual({ kind: 'still_makes' })
    clock.advance(60)
    const until = clock.now() + LIFETIMES.accessToken + 60
    expect(await retireKey(keeping, id, { atOnce: false })).toEqual({ kind: 'still_opens', until })
    clock.advance(LIFETIMES.accessToken + 60)
    expect(await retireKey(keeping, id, { atOnce: false })).toEqual({ kind: 'retired' })
    expect(await retireKey(keeping, id, { atOnce: true })).toEqual({ kind: 'unknown' })
  })

  test('If a key in use is retired at once, a successor is in use immediately', async () => {
    await loadRing(keeping)
    const leaked = await onlyKey('sign')
    expect(await retireKey(keeping, leaked.id, { atOnce: true })).toEqual({ kind: 'retired' })
    expect(await statesOf(keeping, 'sign')).toEqual(['retired', 'makes'])
    const ring = await loadRing(keeping)
    expect(ring.opener('sign', leaked.id)).toBeUndefined()
    expect(ring.maker('sign').id).not.toBe(leaked.id)
  })

  test('If a key is retired at once while its successor is announced, one key is in use at every time and never retired', async () => {
    await loadRing(keeping)
    const leaked = await onlyKey('sign')
    await rotateKey(keeping, 'sign')
    clock.advance(10)
    await retireKey(keeping, leaked.id, { atOnce: true })
    for (let second = 0; second < 2000; second += 10) {
      clock.advance(10)
      await keepKeys(keeping)
      const records = await store.keys.listKeys()
      const maker = (await loadRing(keeping)).maker('sign').id
      const record = records.find(({ id }) => id === maker) as KeyRecord
      expect({ second, state: keyState(keeping, records, record), until: opensUntil(keeping, records, record) }).toEqual({
        second,
        state: 'makes',
        until: null,
      })
    }
    expect((await statesOf(keeping, 'sign')).filter((state) => state === 'makes')).toHaveLength(1)
    expect((await statesOf(keeping, 'sign')).filter((state) => state === 'opens')).toHaveLength(0)
  })

  test('If a key is rotated twice within one second, the later successor is in use, and the other one only verifies', async () => {
    await loadRing(keeping)
    await rotateKey(keeping, 'sign')
    const last = (await rotateKey(keeping, 'sign')) as KeyRecord
    clock.advance(60)
    expect(await makerOf('sign')).toBe(last.id)
    expect(await statesOf(keeping, 'sign')).toEqual(['opens', 'opens', 'makes'])
  })

  test('If the clock is set back before the start of every key, the first key to start is in use', async () => {
    await loadRing(keeping)
    await retireKey(keeping, (await onlyKey('sign')).id, { atOnce: true })
    const successor = (await loadRing(keeping)).maker('sign').id
    clock.advance(-3600)
    expect(await makerOf('sign')).toBe(successor)
  })
})
