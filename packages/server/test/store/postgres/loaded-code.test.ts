/** Which code a store on plain PostgreSQL, or on SQLite, loads. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { newPostgresDatabase } from '../../support/postgres.ts'

const SOURCE = new URL('../../../src/', import.meta.url).href

/** Migrates, inspects and uses a database as the commands do, and prints the names of the loaded files of the stores. */
const PROGRAM = `
import { registerHooks } from 'node:module'
const SOURCE = ${JSON.stringify(SOURCE)}
const files = []
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
const database = await import(SOURCE + 'app/compose/database.ts')
const { databaseUrl } = await import(SOURCE + 'config/database-url.ts')
const { value: url } = databaseUrl(process.env.DATABASE)
await database.migrateDatabase(url, 1)
if (url.kind === 'postgres') {
  await database.inspectServers(url)
  await database.findCoordinatorProblem(url)
  await database.findDirectProblems(url)
  await database.countWaitingAuditLines(url)
}
await database.tablesToDistribute(url)
const store = await database.openDatabase(url)
await store.readRevision()
await store.grants.countGrants(0)
store.placement()
await store.checkWritable()
await store.grants.endGrant('none', 'revoked', 1)
await (await store.startReading())()
await store.endings.readEndings(null, { within: 10, limit: 1, at: 1 })
await store.close()
const stores = SOURCE + 'store/'
console.log(JSON.stringify(files.filter((url) => url.startsWith(stores)).map((url) => url.slice(stores.length))))`

async function loadedFiles(databaseUrl: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    env: { ...process.env, DATABASE: databaseUrl },
  })
  return JSON.parse(stdout) as string[]
}

test('On plain PostgreSQL, a migration, the checks of a doctor and a store load no code for Citus and none for SQLite', async () => {
  const files = await loadedFiles((await newPostgresDatabase()).url)
  expect(files).toContain('postgres/one-primary.ts')
  expect(files.filter((file) => /^(citus|sqlite)\//.test(file))).toEqual([])
})

test('On SQLite, a migration and a store load no code for PostgreSQL and none for Citus', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'grantor-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = await loadedFiles(`sqlite:${join(folder, 'grantor.sqlite')}`)
  expect(files).toContain('sqlite/connection.ts')
  expect(files.filter((file) => /^(citus|postgres)\//.test(file))).toEqual([])
})
