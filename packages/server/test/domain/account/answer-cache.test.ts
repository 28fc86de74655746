/** Answers of other servers in bounded memory. */
import { expect, test } from 'vitest'
import { AnswerCache, type AnswerCacheOptions } from '../../../src/domain/account/answer-cache.ts'

function cacheOf(options: Partial<AnswerCacheOptions> = {}) {
  const clock = { at: 1_000 }
  const lookUps: string[] = []
  const cache = new AnswerCache<string>({ entriesAtMost: 3, sizeAtMost: 100, atOnce: 2, now: () => clock.at, ...options })
  const read = (key: string, { freshFor = 60, size = 10 } = {}) =>
    cache.read(key, async () => {
      lookUps.push(key)
      return { value: `of ${key}`, freshFor, size }
    })
  return { clock, lookUps, cache, read }
}

test('An answer is used until it is as old as it may be, also if the clock is set back', async () => {
  const { clock, lookUps, read } = cacheOf()
  expect(await read('a')).toBe('of a')
  clock.at += 59
  expect(await read('a')).toBe('of a')
  expect(lookUps).toEqual(['a'])
  clock.at += 1
  await read('a')
  expect(lookUps).toEqual(['a', 'a'])
  clock.at -= 60
  await read('a')
  expect(lookUps).toEqual(['a', 'a', 'a'])
})

test('The least recently used answer is dropped if there are too many', async () => {
  const { lookUps, read } = cacheOf()
  for (const key of ['a', 'b', 'c', 'a', 'd']) await read(key)
  expect(lookUps).toEqual(['a', 'b', 'c', 'd'])
  await read('a')
  expect(lookUps).toEqual(['a', 'b', 'c', 'd'])
  await read('b')
  expect(lookUps).toEqual(['a', 'b', 'c', 'd', 'b'])
})

test('Answers are dropped if all of them together are too large, and a dropped answer counts no longer', async () => {
  const { lookUps, read } = cacheOf({ entriesAtMost: 100 })
  await read('a', { size: 60 })
  await read('b', { size: 60 })
  await read('b')
  expect(lookUps).toEqual(['a', 'b'])
  await read('a', { size: 40 })
  await read('b')
  expect(lookUps).toEqual(['a', 'b', 'a'])
  await read('huge', { size: 101 })
  await read('huge', { size: 101 })
  expect(lookUps).toEqual(['a', 'b', 'a', 'huge', 'huge'])
})

test('Concurrent look-ups of one key share one answer, and above the limit no further look-up begins', async () => {
  const { cache } = cacheOf()
  const { promise: answered, resolve: answer } = Promise.withResolvers<string>()
  let began = 0
  const slow = (key: string) =>
    cache.read(key, async () => {
      began++
      return { value: await answered, freshFor: 60, size: 1 }
    })
  const waiting = [slow('a'), slow('a'), slow('b')]
  expect(began).toBe(2)
  expect(await slow('c')).toBeUndefined()
  expect(began).toBe(2)
  answer('x')
  expect(await Promise.all(waiting)).toEqual(['x', 'x', 'x'])
  expect(await slow('c')).toBe('x')
})

test('A look-up that fails is not kept', async () => {
  const { cache, read } = cacheOf()
  await expect(cache.read('a', () => Promise.reject(new Error('a defect')))).rejects.toThrow('a defect')
  expect(await read('a')).toBe('of a')
})
