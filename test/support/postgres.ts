/** Fresh databases on a real PostgreSQL: the one TEST_DATABASE_URL names, whose user may make databases, or one of our own. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject, onTestFinished } from 'vitest'
import { databaseUrl } from '../../src/config/database-url.ts'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'

export type PostgresDatabase = {
  name: string
  url: string
  address: PostgresAddress
  /** a connection of the test's own, with all rights */
  sql: postgres.Sql
  /** with it goes everything in it, whoever is connected */
  drop(): Promise<void>
}

/** Makes an empty database, or a copy of `template`, to which nobody may be connected. */
export async function createPostgresDatabase(template?: string): Promise<PostgresDatabase> {
  const server = await serverUrl()
  const name = `grantor_test_${randomBytes(6).toString('hex')}`
  const admin = connect(server)
  const from = template === undefined ? '' : ` TEMPLATE ${template} STRATEGY file_copy`
  await admin.unsafe(`CREATE DATABASE ${name}${from}`)
  await admin.end()
  const url = withDatabase(server, name)
  const sql = connect(url)
  return {
    name,
    url,
    address: addressOf(url),
    sql,
    async drop() {
      await sql.end()
      const last = connect(server)
      await last.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await last.end()
    },
  }
}

/** The same for one test: it goes when the test is over. */
export async function newPostgresDatabase(): Promise<PostgresDatabase> {
  const database = await createPostgresDatabase()
  onTestFinished(() => database.drop())
  return database
}

/** An address as the setting is read; `extra` are parameters of the URL. */
export function addressOf(url: string, extra = ''): PostgresAddress {
  const parsed = databaseUrl(extra === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${extra}`)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error('not the address of a PostgreSQL database')
  return parsed.value
}

async function serverUrl(): Promise<string> {
  if (process.env.TEST_DATABASE_URL) return process.env.TEST_DATABASE_URL
  const answer = await fetch(inject('postgresKeeper'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

export function connect(url: string): postgres.Sql {
  return postgres(url, {
    max: 1,
    onnotice: () => undefined,
    fetch_types: false,
    types: { bigint: BIGINT },
  })
}

const BIGINT = { to: 20, from: [20], serialize: String, parse: Number }

function withDatabase(url: string, name: string): string {
  return url.replace(/^(\w+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${name}`)
}
