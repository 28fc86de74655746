import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { newFolder, run } from '../run.ts'

const SERVER = {
  GRANTOR_AUTH_URL: 'http://localhost:9',
  GRANTOR_LOGIN_URL: 'http://localhost:7',
  GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
}

let path: string
let env: Record<string, string>
beforeEach(() => {
  path = join(newFolder(), 'grantor.sqlite')
  env = { GRANTOR_DATABASE_URL: `sqlite:${path}` }
})

test('The command migrate creates a database that only its owner can read, and a second run finds the database up to date', async () => {
  expect(await run(['migrate'], env)).toMatchObject({ exit: 0, out: expect.stringContaining('Took step 26') })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await run(['migrate'], env)).toMatchObject({ exit: 0, out: 'The database is up to date.\n' })
})

test('The command migrate --status exits with 1 if steps are pending and creates no database; after migrate, it exits with 0 and lists each step', async () => {
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

test('The command migrate --statements prints each statement that reaches PostgreSQL, and needs neither a database nor settings', async () => {
  const { exit, out, err } = await run(['migrate', '--statements'])
  expect([exit, err]).toEqual([0, ''])
  expect(out).toMatch(/^# Statements on PostgreSQL\n/)
  expect(out).toContain('**Refresh** (move):\n\n```sql\nUPDATE grants\nSET generation')
})

test('The command migrate --statements --json prints the name, the kind, the reach and the text of each statement', async () => {
  const { exit, out } = await run(['migrate', '--statements', '--json'])
  expect(exit).toBe(0)
  const statements = JSON.parse(out) as { name: string }[]
  expect(statements.length).toBeGreaterThan(100)
  expect(statements.find(({ name }) => name === 'read a grant')).toEqual({
    name: 'read a grant',
    kind: 'read',
    reach: 'one',
    sql: expect.stringMatching(/^\s*SELECT grants\.id[^]* FROM grants WHERE id = :id/) as string,
  })
})

test.for(['status', 'restored', 'yes', 'check'])('The option --statements cannot be used with --%s', async (option) => {
  const { exit, err } = await run(['migrate', '--statements', `--${option}`], env)
  expect([exit, existsSync(path)]).toEqual([2, false])
  expect(err).toContain('--statements can only be used with --json')
})

test('A database of a newer version is refused by migrate and clients list, with one error line', async () => {
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

test.each([
  [['migrate']],
  [['migrate', '--status']],
  [['migrate', '--restored', '--yes']],
  [['clients', 'list']],
  [['export']],
  [['serve']],
])(
  'A database from before the first release is refused by %s with one line that names the way, and stays unchanged',
  async (argv) => {
    const database = new DatabaseSync(path)
    database.exec(`CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, oldest INTEGER) STRICT;
                 INSERT INTO migrations VALUES (16, 'endings of wallets', 0, 13)`)
    const { exit, err } = await run(argv, { ...env, ...SERVER })
    expect(exit).toBe(1)
    expect(err).toMatch(/^grantor: .*Run grantor export with that version.*grantor migrate and grantor apply.*upgrade\.md.*\n$/)
    expect(database.prepare('SELECT number FROM migrations').all()).toEqual([{ number: 16 }])
    database.close()
  },
)

test('A file that is not a database is refused by migrate, with one error line', async () => {
  writeFileSync(path, 'not a database, but a letter to a friend '.repeat(100))
  expect(await run(['migrate'], env)).toMatchObject({
    exit: 1,
    err: expect.stringMatching(/^grantor: the database cannot be used: .*\n$/),
  })
})

test('While another process has the database open and steps are pending, migrate warns about it; otherwise migrate does not', async () => {
  await run(['migrate'], env)
  const server = openSqliteStore(path)
  onTestFinished(() => server.close())
  await server.readRevision()
  expect((await run(['migrate', '--status'], env)).err).toBe('')
  const database = new DatabaseSync(path)
  database.exec('DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)')
  database.close()
  const { number } = MIGRATIONS.at(-1) ?? { number: 0 }
  const { exit, err } = await run(['migrate', '--status'], env)
  expect(exit).toBe(1)
  expect(err).toMatch(/^Warning: the database is in use by another process on this machine\. .*\n$/)
  await server.close()
  const alone = await run(['migrate', '--status'], env)
  expect(alone).toMatchObject({ err: '', out: expect.stringContaining(`${number} `) })
})
