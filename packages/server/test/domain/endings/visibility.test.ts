import { expect, test } from 'vitest'
import { EVERYONE, Visibility } from '../../../src/domain/endings/visibility.ts'

const [A, B, C, D] = ['https://a.example/', 'https://b.example/', 'https://c.example/', 'https://d.example/'] as const

test('A reader sees the endings of grants for its resource, and no others', () => {
  const visibility = new Visibility()
  const both = visibility.groupOf([A, B])
  expect(visibility.groupOf([B, A])).toBe(both)
  expect([A, B, C].map((reader) => visibility.sees(reader, both))).toEqual([true, true, false])
  expect(visibility.sees(C, EVERYONE)).toBe(true)
})

test('A reader also sees the endings of grants whose tokens can be exchanged for its resource, in any number of steps (RFC 8693)', () => {
  const visibility = new Visibility()
  visibility.allow([
    { client: 'a', from: A, to: [B] },
    { client: 'b', from: B, to: [C] },
  ])
  const group = visibility.groupOf([A])
  expect([A, B, C, D].map((reader) => visibility.sees(reader, group))).toEqual([true, true, true, false])
})

test('A new exchange names the readers that see more, and a removed exchange takes nothing from a reader', () => {
  const visibility = new Visibility()
  const group = visibility.groupOf([A])
  expect(visibility.sees(B, group)).toBe(false)
  expect(visibility.sees(C, group)).toBe(false)
  expect(visibility.allow([{ client: 'a', from: A, to: [B] }])).toEqual([B])
  expect(visibility.sees(B, group)).toBe(true)
  expect(visibility.allow([])).toEqual([])
  expect(visibility.sees(B, group)).toBe(true)
  expect(visibility.sees(C, group)).toBe(false)
})

test('Beyond 4,096 combinations of resources, every reader gets the endings of further combinations', () => {
  const visibility = new Visibility()
  const groups = Array.from({ length: 4100 }, (_, index) => visibility.groupOf([A, `https://${index}.example/`]))
  expect(groups.filter((group) => group === EVERYONE)).toHaveLength(4)
  expect(visibility.groupOf([A, 'https://0.example/'])).not.toBe(EVERYONE)
})
