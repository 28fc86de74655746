import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { newFolder, run } from '../run.ts'

let path: string
let env: Record<string, string>
beforeEach(() => {
  path = join(newFolder(), 'grantor.sqlite')
  env = { GRANTOR_DATABASE_URL: `sqlite:${path}` }
})

test('migrate makes the database, readable by its owner alone, and can be repeated', async () => {
  expect(await run(['migrate'], env)).toMatchObject({ exit: 0, out: expect.stringContaining('Took step 1') })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await run(['migrate'], env)).toMatchObject({ exit: 0, out: 'The database is up to date.\n' })
})

test('--status tells what is pending with exit code 1 and changes nothing', async () => {
  expect(await run(['migrate', '--status'], env)).toMatchObject({ exit: 1 })
  expect(existsSync(path)).toBe(false)
  await run(['migrate'], env, 1_800_000_000)
  const { exit, out } = await run(['migrate', '--status', '--json'], env)
  expect(exit).toBe(0)
  expect(JSON.parse(out)).toEqual({
    exists: true,
    applied: MIGRATIONS.map(({ number, name }) => ({ number, name, applied_at: 1_800_000_000 })),
    pending: [],
  })
})

test('a database of a newer version is left alone, and one line says so', async () => {
  await run(['migrate'], env)
  const database = new DatabaseSync(path)
  database.exec("INSERT INTO migrations VALUES (9999, 'from the future', 0, NULL)")
  database.close()
  for (const argv of [['migrate'], ['clients', 'list']]) {
    const { exit, err } = await run(argv, env)
    expect(exit).toBe(1)
    expect(err).toMatch(/^grantor: .*newer version.*\n$/)
  }
})

test('what is no database is left alone, and one line says so', async () => {
  writeFileSync(path, 'not a database, but a letter to a friend '.repeat(100))
  expect(await run(['migrate'], env)).toMatchObject({
    exit: 1,
    err: expect.stringMatching(/^grantor: the database cannot be used: .*\n$/),
  })
})
