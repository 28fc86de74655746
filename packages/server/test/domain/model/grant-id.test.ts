import { expect, test } from 'vitest'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'

const AT = 1_800_000_000

test("A grant's id is a UUID of version 7 (RFC 9562 §5.7) that sorts after every id made before it", () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => newGrantId(AT + Math.floor(i / 5000)))
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(ids.toSorted()).toEqual(ids)
  expect(Number.parseInt((ids[0] ?? '').replace('-', '').slice(0, 12), 16)).toBe(AT * 1000)
})

test('Grant ids of the same second differ, also if the clock jumps back and the counter starts again', () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => newGrantId(AT - (i % 2)))
  expect(new Set(ids).size).toBe(10_000)
})
