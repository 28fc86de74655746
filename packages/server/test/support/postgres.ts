/**
 * New databases on a real PostgreSQL: the server that TEST_DATABASE_URL names, whose user may create databases, or a server of the tests.
 * If TEST_ENGINE is `citus`, they are on the Citus cluster that the test files of a run share.
 */
import { randomBytes } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { createClusterDatabase } from '../citus/cluster.ts'
import { addressOf, type PostgresDatabase } from './postgres-database.ts'
import { connect } from './sql.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** `/postgres` returns the URL of the shared PostgreSQL, `/citus` a list with the URLs of the servers of the shared cluster */
    postgresKeeper: string
  }
}

export { addressOf, type PostgresDatabase } from './postgres-database.ts'

/** Creates an empty database, or a copy of `template`, which must have no connections. */
export async function createPostgresDatabase(template?: string): Promise<PostgresDatabase> {
  if (process.env.TEST_ENGINE === 'citus') return createClusterDatabase(await clusterServers())
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

/** Creates a database for one test, and drops it at the end of the test. */
export async function newPostgresDatabase(): Promise<PostgresDatabase> {
  const database = await createPostgresDatabase()
  onTestFinished(() => database.drop())
  return database
}

async function serverUrl(): Promise<string> {
  if (process.env.TEST_DATABASE_URL) return process.env.TEST_DATABASE_URL
  return askKeeper('postgres')
}

async function clusterServers() {
  const urls = JSON.parse(await askKeeper('citus')) as string[]
  return urls.map((url) => ({ port: Number(new URL(url).port), urlOf: (database: string) => withDatabase(url, database) }))
}

async function askKeeper(server: 'postgres' | 'citus'): Promise<string> {
  const answer = await fetch(`${inject('postgresKeeper')}/${server}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

function withDatabase(url: string, name: string): string {
  return url.replace(/^(\w+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${name}`)
}
