/** The databases that released versions made: this version migrates and reads each of them. `docs/contributing/release.md` says who saves them. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, test } from 'vitest'
import { newFolder } from '../app/run.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { addressOf } from '../support/postgres-database.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { connect } from '../support/sql.ts'
import { checkDatabase, type Opened, type Saved, saveDatabase } from './saved-database.ts'

const FOLDER = join(import.meta.dirname, 'databases')
const VERSIONS = readdirSync(FOLDER)
/** The folder of the programs of the oldest supported PostgreSQL. If it is set, the databases of the present version are saved. */
const PROGRAMS = process.env.TEST_SAVE_DATABASES
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string }

const onSqlite = (databasePath: string): Opened => ({ options: { databasePath }, url: `sqlite:${databasePath}` })
const onPostgres = (url: string): Opened => ({ options: { postgres: addressOf(url), postgresClock: 'given' }, url })
const read = (...path: string[]) => readFileSync(join(FOLDER, ...path))
const savedOf = (...path: string[]) => JSON.parse(read(...path).toString()) as Saved

describe.runIf(PROGRAMS)('the databases of this version are saved', () => {
  const folder = join(FOLDER, version)
  const save = (name: string, content: string | Uint8Array) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), content)
  }

  test('on SQLite', async () => {
    const path = join(newFolder(), 'grantor.sqlite')
    save('sqlite.json', JSON.stringify(await saveDatabase(onSqlite(path)), null, 2))
    const database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = DELETE; VACUUM')
    database.close()
    save('sqlite.gz', gzipSync(readFileSync(path), { level: 9 }))
  })

  test('on PostgreSQL', async () => {
    const server = await startPostgres({}, PROGRAMS)
    const url = server.urlOf('postgres')
    save('postgresql.json', JSON.stringify(await saveDatabase(onPostgres(url)), null, 2))
    save('postgresql.sql', execFileSync(join(PROGRAMS ?? '', 'pg_dump'), ['--inserts', '--no-owner', '--no-privileges', url]))
    await server.remove()
  })
})

describe.each(VERSIONS)('A database of %s is migrated and read, and its grants and sessions continue', (from) => {
  test('on SQLite', async () => {
    const path = join(newFolder(), 'grantor.sqlite')
    writeFileSync(path, gunzipSync(read(from, 'sqlite.gz')), { mode: 0o600 })
    await checkDatabase(onSqlite(path), savedOf(from, 'sqlite.json'))
  })

  test('on PostgreSQL', async () => {
    const { url } = await newPostgresDatabase()
    const loading = connect(url)
    // The lines with a backslash are commands of psql.
    await loading.unsafe(
      read(from, 'postgresql.sql')
        .toString()
        .replace(/^\\.*$/gm, ''),
    )
    await loading.end()
    await checkDatabase(onPostgres(url), savedOf(from, 'postgresql.json'))
  })
})
