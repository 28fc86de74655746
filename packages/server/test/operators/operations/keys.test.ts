/** The rules of keys that an operator meets. */
import { expect } from 'vitest'
import { NOW, type Operations, test } from './on-store.ts'

type Key = { key_id: string; kind: string; state: string; opens_until: number | null }

async function signingKeys({ output }: Operations): Promise<Key[]> {
  const { items } = (await output('listKeys')) as { items: Key[] }
  return items.filter(({ kind }) => kind === 'sign')
}

/** The longest lifetime of an access token by default, and the time of an announcement. */
const [LIFETIME, ANNOUNCED] = [600, 60]

test('A new key is announced for 60 seconds and then signs, and the earlier key verifies until its tokens have expired', async ({
  operations,
}) => {
  const { call, clock, acts } = operations
  clock.now += ANNOUNCED
  await call('rotateKey', { input: { kind: 'sign' } })
  const states = async () => (await signingKeys(operations)).map(({ state }) => state).toSorted()
  expect(await states()).toEqual(['announced', 'makes'])
  clock.now += ANNOUNCED
  expect(await states()).toEqual(['makes', 'opens'])
  const earlier = (await signingKeys(operations)).find(({ state }) => state === 'opens')
  expect(earlier?.opens_until).toBe(clock.now + LIFETIME + 60)
  expect(acts).toMatchObject([{ event: 'key_made', reason: 'sign' }])
})

test('A key is not retired while it is in use or its tokens may be valid, and is retired once after its tokens have expired', async ({
  operations,
}) => {
  const { call, refused, clock, acts } = operations
  await call('rotateKey', { input: { kind: 'sign' } })
  const id = (await signingKeys(operations)).find(({ state }) => state === 'makes')?.key_id ?? ''
  const refusedAt = async (seconds: number) => {
    clock.now = NOW + seconds
    const { code, message } = await refused('retireKey', { id })
    return [code, message]
  }
  expect(await refusedAt(30)).toEqual(['conflict', expect.stringContaining('is in use')])
  expect(await refusedAt(100)).toEqual(['conflict', expect.stringContaining('may be valid until')])
  clock.now = NOW + 721
  await call('retireKey', { id })
  expect(await refusedAt(721)).toEqual(['not_found', expect.anything()])
  expect(acts.at(-1)).toMatchObject({ event: 'key_retired', key_id: id })
})

test('A key that leaked is retired immediately, and another key is in use', async ({ operations }) => {
  const [leaked] = await signingKeys(operations)
  const id = leaked?.key_id ?? ''
  await operations.call('retireKey', { id, input: { at_once: true } })
  const keys = await signingKeys(operations)
  expect(keys.find(({ key_id }) => key_id === id)).toMatchObject({ state: 'retired' })
  expect(keys.filter(({ state }) => state === 'makes')).toHaveLength(1)
})
