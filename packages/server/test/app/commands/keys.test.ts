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
async function listKeys(at: number): Promise<Key[]> {
  return JSON.parse((await run(['keys', 'list', '--json'], env, at)).out)
}

describe('The keys commands', () => {
  test('The command keys rotate --kind rotates the named kinds, and --json prints the new keys', async () => {
    const { out } = await run(['keys', 'rotate', '--kind', 'seal', '--kind', 'mac', '--json'], env, NOW)
    expect(JSON.parse(out)).toEqual([
      { key_id: expect.any(String), kind: 'seal', starts_at: NOW + 60 },
      { key_id: expect.any(String), kind: 'mac', starts_at: NOW + 60 },
    ])
  })

  test('The command keys list prints ten members of each key, and no key material', async () => {
    await run(['keys', 'rotate'], env, NOW)
    expect(Object.keys((await listKeys(NOW))[0]!).sort()).toEqual([
      'algorithm',
      'created_at',
      'key_id',
      'kind',
      'number',
      'opens_until',
      'retired_at',
      'rotates_at',
      'starts_at',
      'state',
    ])
    expect((await run(['keys', 'list'], env, NOW)).out).toMatch(/KEY_ID +KIND +ALGORITHM +STATE/)
  })

  test('With a wrong GRANTOR_SECRET, keys rotate and keys retire fail and change no key', async () => {
    await run(['keys', 'rotate'], env, NOW)
    const before = await listKeys(NOW)
    for (const argv of [
      ['keys', 'rotate'],
      ['keys', 'retire', before[0]!.key_id, '--at-once'],
    ]) {
      const { exit, err } = await run(argv, { ...env, GRANTOR_SECRET: `${SECRET}-mistyped` }, NOW)
      expect([exit, err]).toEqual([1, expect.stringContaining('made with another GRANTOR_SECRET')])
    }
    expect(await listKeys(NOW)).toEqual(before)
  })

  test('The command keys retire prints a line for each outcome', async () => {
    await run(['keys', 'rotate'], env, NOW)
    const first = (await listKeys(NOW)).find(({ kind, state }) => kind === 'sign' && state === 'makes')!.key_id
    const retire = (at: number) => run(['keys', 'retire', first], env, at)
    expect(await retire(NOW + 30)).toMatchObject({ exit: 1, err: expect.stringContaining('is in use') })
    expect(await retire(NOW + 100)).toMatchObject({ exit: 1, err: expect.stringContaining('may be valid until') })
    expect(await retire(NOW + 721)).toMatchObject({ exit: 0, out: `Retired ${first}.\n` })
    expect(await retire(NOW + 721)).toMatchObject({
      exit: 1,
      err: `grantor: there is no key "${first}"; see: grantor keys list\n`,
    })
  })
})
