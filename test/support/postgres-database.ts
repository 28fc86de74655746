/** A database of a test on a real PostgreSQL: its address, and a connection of the test's own. */
import postgres from 'postgres'
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

/** An address as the setting is read; `extra` are parameters of the URL. */
export function addressOf(url: string, extra = ''): PostgresAddress {
  const parsed = databaseUrl(extra === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${extra}`)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error('not the address of a PostgreSQL database')
  return parsed.value
}

/** A connection of the test's own. */
export function connect(url: string): postgres.Sql {
  return postgres(url, {
    max: 1,
    onnotice: () => undefined,
    fetch_types: false,
    types: { bigint: BIGINT },
  })
}

const BIGINT = { to: 20, from: [20], serialize: String, parse: Number }
