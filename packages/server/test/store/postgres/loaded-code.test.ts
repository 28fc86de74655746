/** Which code a store on plain PostgreSQL loads. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newPostgresDatabase } from '../../support/postgres.ts'

const SOURCE = new URL('../../../src/', import.meta.url).href

/** Migrates a database, uses a store on it, and prints the names of the loaded files of the store. */
const PROGRAM = `
import { registerHooks } from 'node:module'
const SOURCE = ${JSON.stringify(SOURCE)}
const files = []
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
const { migratePostgres, openPostgresStore } = await import(SOURCE + 'store/postgres/index.ts')
const { addressOf } = await import(SOURCE + '../test/support/postgres-database.ts')
const address = addressOf(process.env.DATABASE)
await migratePostgres(address, 1)
const store = await openPostgresStore(address)
await store.checkWritable()
await store.grants.endGrant('none', 'revoked', 1)
await (await store.startReading())()
await store.endings.readEndings(null, { within: 10, limit: 1, at: 1 })
await store.close()
const stores = SOURCE + 'store/postgres/'
console.log(JSON.stringify(files.filter((url) => url.startsWith(stores)).map((url) => url.slice(stores.length))))`

test('On plain PostgreSQL, a migration and a store load no code for clusters', async () => {
  const database = await newPostgresDatabase()
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    env: { ...process.env, DATABASE: database.url },
  })
  const files = JSON.parse(stdout) as string[]
  expect(files).toContain('connection/runner.ts')
  expect(files.filter((file) => file.startsWith('cluster/'))).toEqual([])
})
