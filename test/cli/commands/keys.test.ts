import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { newFolder, run } from '../run.ts'

const NOW = 1_800_000_000
const SECRET = 'correct-horse-battery-staple-4711'

let env: Record<string, string>
beforeEach(async () => {
  env = { GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`, GRANTOR_SECRET: SECRET }
  await run(['migrate'], env)
})

type Key = { key_id: string; kind: string; state: string; starts_at: number; opens_until: number | null; algorithm: string }
async function listed(at: number): Promise<Key[]> {
  return JSON.parse((await run(['keys', 'list', '--json'], env, at)).out)
}
const states = async (at: number) => (await listed(at)).filter(({ kind }) => kind === 'sign').map(({ state }) => state)

describe('keys', () => {
  test('a new signing key is announced for 60 seconds, then signs, while the earlier one still opens what it signed', async () => {
    await run(['keys', 'rotate'], env, NOW) // the first of each kind is made on the way
    expect((await states(NOW)).sort()).toEqual(['announced', 'makes'])
    expect((await states(NOW + 60)).sort()).toEqual(['makes', 'opens'])
    const opening = (await listed(NOW + 60)).find(({ state }) => state === 'opens')!
    expect(opening.opens_until).toBe(NOW + 60 + 600 + 60)
  })

  test('rotate takes kinds, and --json tells what was made', async () => {
    const { out } = await run(['keys', 'rotate', '--kind', 'seal', '--kind', 'mac', '--json'], env, NOW)
    expect(JSON.parse(out)).toEqual([
      { key_id: expect.any(String), kind: 'seal', starts_at: NOW + 60 },
      { key_id: expect.any(String), kind: 'mac', starts_at: NOW + 60 },
    ])
  })

  test('the list never shows key material', async () => {
    await run(['keys', 'rotate'], env, NOW)
    expect(Object.keys((await listed(NOW))[0]!).sort()).toEqual([
      'algorithm',
      'created_at',
      'key_id',
      'kind',
      'number',
      'opens_until',
      'retired_at',
      'starts_at',
      'state',
    ])
    expect((await run(['keys', 'list'], env, NOW)).out).toMatch(/KEY_ID +KIND +ALGORITHM +STATE/)
  })

  test('with another GRANTOR_SECRET nothing is made that no node could open', async () => {
    await run(['keys', 'rotate'], env, NOW)
    const before = await listed(NOW)
    for (const argv of [
      ['keys', 'rotate'],
      ['keys', 'retire', before[0]!.key_id, '--at-once'],
    ]) {
      const { exit, err } = await run(argv, { ...env, GRANTOR_SECRET: `${SECRET}-mistyped` }, NOW)
      expect([exit, err]).toEqual([1, expect.stringContaining('made with another GRANTOR_SECRET')])
    }
    expect(await listed(NOW)).toEqual(before)
  })

  test('retire refuses a key in use, then one whose tokens may live, and takes one that has outlived them', async () => {
    await run(['keys', 'rotate'], env, NOW)
    const first = (await listed(NOW)).find(({ kind, state }) => kind === 'sign' && state === 'makes')!.key_id
    expect(await run(['keys', 'retire', first], env, NOW + 30)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('is in use'),
    })
    expect(await run(['keys', 'retire', first], env, NOW + 100)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('may be valid until'),
    })
    expect(await run(['keys', 'retire', first], env, NOW + 721)).toMatchObject({ exit: 0, out: `Retired ${first}.\n` })
    expect(await run(['keys', 'retire', first], env, NOW + 721)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('no living key'),
    })
  })

  test('retire --at-once puts a new key in place of one that leaked, immediately', async () => {
    await run(['keys', 'rotate'], env, NOW - 1000)
    const leaked = (await listed(NOW)).find(({ kind, state }) => kind === 'sign' && state === 'makes')!.key_id
    await run(['keys', 'retire', leaked, '--at-once'], env, NOW)
    const keys = (await listed(NOW)).filter(({ kind }) => kind === 'sign')
    expect(keys.find(({ key_id }) => key_id === leaked)).toMatchObject({ state: 'retired' })
    expect(keys.filter(({ state }) => state === 'makes')).toHaveLength(1)
  })
})
