/** Keys on several nodes, and keys that follow each other. keep-keys.test.ts tests the life of a single key. */
import { expect, test } from 'vitest'
import { type KeyKeeping, keepKeys, opensUntil, retireKey, rotateKey } from '../../../src/domain/maintenance/keep-keys.ts'
import { type KeyKind, type KeyRecord } from '../../../src/protocol/keys/key-ring.ts'
import { seal, unseal } from '../../../src/protocol/keys/sealed.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'
import { keepingOn, keysOf, loadRing, statesOf } from '../../support/key-keeping.ts'
import { LIFETIMES, TestClock } from '../../support/start.ts'

const DAY = 86_400

/** Two nodes that have started on one store. */
async function startTwoNodes() {
  const nodes = await openTwoNodes()
  const clock = new TestClock()
  const keepings = nodes.map((store) => keepingOn(store, clock)) as [KeyKeeping, KeyKeeping]
  for (const keeping of keepings) await loadRing(keeping)
  return { clock, keepings, keeping: keepings[0] }
}

async function rotateOrThrow(keeping: KeyKeeping, kind: KeyKind): Promise<KeyRecord> {
  const key = await rotateKey(keeping, kind)
  if (key === 'taken') throw new Error('another node was first')
  return key
}

test('A key that several nodes find old at once gets one successor', async () => {
  const { clock, keepings, keeping } = await startTwoNodes()
  clock.advance(90 * DAY)
  await Promise.all([...keepings, ...keepings, ...keepings].map(keepKeys))
  for (const kind of ['sign', 'seal', 'mac'] as const) expect(await statesOf(keeping, kind)).toEqual(['makes', 'announced'])
})

test('If several nodes switch to another signing algorithm at once, one key for it is created', async () => {
  const { clock, keepings, keeping } = await startTwoNodes()
  const changed = keepings.map((each) => ({ ...each, signingAlgorithm: 'RS256' as const }))
  await Promise.all([...changed, ...changed].map(keepKeys))
  clock.advance(30)
  await Promise.all(changed.map(keepKeys))
  expect((await keysOf(keeping, 'sign')).map(({ algorithm }) => algorithm)).toEqual(['ES256', 'RS256'])
  expect(await statesOf(keeping, 'seal'), 'other kinds have nothing to do with it').toEqual(['makes'])
})

test('An announced key can be retired at once without a successor: the key in use stays in use', async () => {
  const { keeping } = await startTwoNodes()
  const [first] = await keysOf(keeping, 'seal')
  const announced = await rotateOrThrow(keeping, 'seal')
  expect(await retireKey(keeping, announced.id, { atOnce: false })).toEqual({ kind: 'still_makes' })
  expect(await retireKey(keeping, announced.id, { atOnce: true })).toEqual({ kind: 'retired' })
  expect(await statesOf(keeping, 'seal')).toEqual(['makes', 'retired'])
  expect((await loadRing(keeping)).maker('seal').id).toBe(first?.id)
})

test('The number of a retired key is never used again: the next key gets the next number', async () => {
  const { keeping } = await startTwoNodes()
  const announced = await rotateOrThrow(keeping, 'mac')
  await retireKey(keeping, announced.id, { atOnce: true })
  expect([announced.number, (await rotateOrThrow(keeping, 'mac')).number]).toEqual([2, 3])
})

test("If a key's successor is retired, the time until which the key stays valid counts from the next successor", async () => {
  const { clock, keeping } = await startTwoNodes()
  const [first] = await keysOf(keeping, 'sign')
  const second = await rotateOrThrow(keeping, 'sign')
  clock.advance(60)
  const records = await keeping.store.listKeys()
  expect(opensUntil(keeping, records, first ?? second)).toBe(second.startsAt + 600 + 60)
  clock.advance(100)
  await retireKey(keeping, second.id, { atOnce: true })
  expect(opensUntil(keeping, await keeping.store.listKeys(), first ?? second)).toBe(clock.now() + 600 + 60)
})

test('A value that a key seals in its last second in use opens until it expires', async () => {
  const { clock, keeping } = await startTwoNodes()
  await rotateOrThrow(keeping, 'seal')
  clock.advance(59)
  const challenge = seal(await loadRing(keeping), 'grl', { a: 1 })
  clock.advance(600)
  await keepKeys(keeping)
  expect(unseal(await loadRing(keeping), 'grl', challenge)).toEqual({ a: 1 })
})

test('A key is kept for the longest lifetime of anything that was made with it for any client', async () => {
  const { clock, keeping } = await startTwoNodes()
  const longest = { accessToken: 3600, refreshIdle: 90 * DAY, grant: 90 * DAY }
  const lifetimes = { ...LIFETIMES, code: 600, longest }
  const until: Record<string, number> = {}
  const kinds = ['sign', 'seal', 'mac'] as const
  for (const kind of kinds) await rotateOrThrow(keeping, kind)
  clock.advance(60)
  const records = await keeping.store.listKeys()
  for (const key of records.filter(({ number, kind }) => number === 1 && kinds.some((each) => each === kind))) {
    until[key.kind] = (opensUntil({ ...keeping, lifetimes }, records, key) ?? 0) - clock.now()
  }
  expect(until).toEqual({ sign: 3600 + 60, seal: 90 * DAY + 60, mac: 90 * DAY + 60 })
})

test('If the clock jumps back, no key is retired, and no retired key is accepted again', async () => {
  const { clock, keeping } = await startTwoNodes()
  const [first] = await keysOf(keeping, 'sign')
  await rotateOrThrow(keeping, 'sign')
  clock.advance(60 + 600 + 60)
  await keepKeys(keeping)
  clock.advance(-10 * DAY)
  await keepKeys(keeping)
  const ring = await loadRing(keeping)
  expect(ring.opener('sign', first?.id ?? '')).toBeUndefined()
  expect(ring.isLoaded()).toBe(true)
  expect((await keysOf(keeping, 'sign')).filter(({ retiredAt }) => retiredAt === null)).toHaveLength(1)
})
