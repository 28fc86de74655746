import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../server/test/support/runs.ts'
import { Entries } from '../../src/feed/entries.ts'
import { FeedState } from '../../src/feed/state.ts'

const AT = 1_800_000_000
const MIB = 1024 * 1024

/** Entries of which no two are the same; the last word is spread, as that of a random id. */
function distinctEntries(count: number): Uint32Array {
  const words = new Uint32Array(count * 4)
  for (let entry = 0; entry < count; entry++) {
    words[entry * 4] = entry + 1
    words[entry * 4 + 3] = Math.imul(entry, 0x9e3779b1)
  }
  return words
}

test('500,000 entries take at most 16 MiB, in one period and in many', () => {
  const words = distinctEntries(500_000)
  const one = new Entries()
  expect(one.add(words, { forgetAt: AT + 660, at: AT })).toBe(500_000)
  expect(one.bytes).toBeLessThanOrEqual(16 * MIB)
  const many = new Entries()
  for (let part = 0; part < 11; part++)
    many.add(words.subarray(part * 181_820, (part + 1) * 181_820), { forgetAt: AT + part * 60 + 60, at: AT })
  expect(many.count).toBe(500_000)
  expect(many.bytes).toBeLessThanOrEqual(16 * MIB)
  for (const entries of [one, many]) {
    expect(entries.has(words, 499_999 * 4)).toBe(true)
    expect(entries.has(Uint32Array.of(1, 2, 3, 4), 0)).toBe(false)
  }
})

test('Entries with any identifiers are found, others are not, and an entry is forgotten after its time but not before', () => {
  // Few different words, so that entries collide and share parts.
  const word = fc.constantFrom(0, 1, 0x8000_0000, 0xffff_ffff)
  const entry = fc.tuple(word, word, word, word)
  const added = fc.array(fc.tuple(entry, fc.integer({ min: 0, max: 5000 })), { maxLength: 300 })
  fc.assert(
    fc.property(added, fc.array(entry), fc.integer({ min: 0, max: 5000 }), (list, others, later) => {
      const entries = new Entries()
      const until = new Map<string, number>()
      for (const [words, after] of list) {
        entries.add(Uint32Array.from(words), { forgetAt: AT + after, at: AT })
        until.set(words.join(' '), Math.max(after, until.get(words.join(' ')) ?? 0))
      }
      entries.forget(AT + later)
      for (const words of [...others, ...list.map(([words]) => words)]) {
        const time = until.get(words.join(' '))
        const isThere = entries.has(Uint32Array.from(words), 0)
        if (time === undefined) expect(isThere).toBe(false)
        else if (time >= later) expect(isThere).toBe(true)
      }
      // A period is at most a quarter of the time, and at least 32 seconds.
      entries.forget(AT + 10_000)
      expect(entries.count).toBe(0)
    }),
    { numRuns: runs },
  )
})

test('A feed with more than 2,000,000 entries is refused, and nothing of it is used', () => {
  const state = new FeedState()
  const connection = state.connect(0)
  const words = distinctEntries(2_000_001)
  const at = AT * 1000
  const message = {
    at,
    feed: 'run-1',
    from: null,
    until: at,
    lifetime: 600,
    part: { index: 1, of: 1 },
    keys: ['key'],
    clients: [],
    ended: [{ forgetAt: AT + 660, entries: words }],
  }
  expect(() => state.accept(message, connection, 1)).toThrow('too_large')
  expect([state.entries, state.ageAt(1)]).toEqual([0, Number.POSITIVE_INFINITY])
})
