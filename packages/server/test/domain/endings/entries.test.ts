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
      expect(place.block.entryAt(place.position).equals(entry(index))).toBe(true)
      expect(place.block.groupAt(place.position)).toBe(index % 7)
    }
    expect(names.filter((name) => !entries.has(entry(name)))).toEqual([])
    expect(entries.has(entry('another'))).toBe(false)
  })

  test('An entry can be in the blocks of several times, and its group in each block can change', () => {
    const entries = new Entries()
    entries.add(entry('a'), { forgetAt: 600, group: 1 })
    const later = entries.add(entry('a'), { forgetAt: 660, group: 2 })
    expect(entries.find(entry('a'), 660)).toEqual(later)
    expect(entries.find(entry('a'), 720)).toBe(null)
    later.block.setGroup(later.position, 3)
    expect([600, 660].map((time) => entries.find(entry('a'), time)?.block.groupAt(0))).toEqual([1, 3])
  })

  test('The entries of each owner are counted until they are forgotten', () => {
    const entries = new Entries()
    for (let name = 0; name < 300; name++)
      entries.add(entry(name), { forgetAt: 600 + (name % 3) * 60, group: 1, owner: 1 + (name % 2) })
    entries.add(entry('of nobody'), { forgetAt: 600, group: 1 })
    const counts = () => [0, 1, 2].map((owner) => entries.countOf(owner))
    expect(counts()).toEqual([0, 150, 150])
    entries.forget(601)
    expect(counts()).toEqual([0, 100, 100])
    entries.forget(1000)
    expect(counts()).toEqual([0, 0, 0])
  })

  test('Entries are forgotten after their time, and not at their time', () => {
    const entries = new Entries()
    entries.add(entry('a'), { forgetAt: 600, group: 1 })
    entries.add(entry('b'), { forgetAt: 660, group: 1 })
    entries.forget(600)
    expect(entries.count).toBe(2)
    entries.forget(601)
    expect(entries.count).toBe(1)
    expect([entries.has(entry('a')), entries.has(entry('b'))]).toEqual([false, true])
  })

  test('500,000 entries take less than 28 MiB', () => {
    const entries = new Entries()
    for (let name = 0; name < 500_000; name++) entries.add(entry(name), { forgetAt: 600 + (name % 10) * 60, group: 1 })
    expect(entries.bytes).toBeLessThan(28 * 1024 * 1024)
  })
})
