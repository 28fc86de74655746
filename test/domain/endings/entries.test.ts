import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Entries } from '../../../src/domain/endings/entries.ts'

const entry = (name: string | number): Buffer => createHash('sha256').update(String(name)).digest().subarray(0, 16)

describe('The entries of the feed in memory', () => {
  test('Each of 5,000 entries is found once, in the order in which it was added, with its group', () => {
    const entries = new Entries()
    const names = Array.from({ length: 5000 }, (_, index) => index)
    const places = names.map((name) => entries.add(entry(name), { forgetAt: 600, group: name % 7 }))
    expect(entries.count).toBe(5000)
    for (const [index, place] of places.entries()) {
      expect(place?.block.entryAt(place.position).equals(entry(index))).toBe(true)
      expect(place?.block.groupAt(place.position)).toBe(index % 7)
    }
    expect(names.filter((name) => entries.add(entry(name), { forgetAt: 600, group: 0 }) !== null)).toEqual([])
  })

  test('An entry that comes again with a later time is not added again', () => {
    const entries = new Entries()
    entries.add(entry('a'), { forgetAt: 600, group: 1 })
    expect(entries.add(entry('a'), { forgetAt: 660, group: 1 })).toBe(null)
  })

  test('An entry that is needed until a later time is added again, once', () => {
    const entries = new Entries()
    entries.add(entry('a'), { forgetAt: 600, group: 1 })
    expect(entries.add(entry('a'), { forgetAt: 660, group: 1, neededUntil: 660 })).not.toBe(null)
    expect(entries.add(entry('a'), { forgetAt: 660, group: 1, neededUntil: 660 })).toBe(null)
  })

  test('Entries are forgotten after their time, and not at their time', () => {
    const entries = new Entries()
    entries.add(entry('a'), { forgetAt: 600, group: 1 })
    entries.add(entry('b'), { forgetAt: 660, group: 1 })
    entries.forget(600)
    expect(entries.count).toBe(2)
    entries.forget(601)
    expect(entries.count).toBe(1)
    expect(entries.add(entry('b'), { forgetAt: 660, group: 1 })).toBe(null)
    expect(entries.add(entry('a'), { forgetAt: 660, group: 1 })).not.toBe(null)
  })

  test('500,000 entries take less than 28 MiB', () => {
    const entries = new Entries()
    for (let name = 0; name < 500_000; name++) entries.add(entry(name), { forgetAt: 600 + (name % 10) * 60, group: 1 })
    expect(entries.bytes).toBeLessThan(28 * 1024 * 1024)
  })
})
