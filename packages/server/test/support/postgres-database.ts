/** A test database on a real PostgreSQL: its address, and a connection for the test. */

import { databaseUrl } from '../../src/config/database-url.ts'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'
import type { Sql } from './sql.ts'

export type PostgresDatabase = {
  name: string
  url: string
  address: PostgresAddress
  /** a connection for the test, with all rights */
  sql: Sql
  /** drops the database, even if it has connections */
  drop(): Promise<void>
}

/** The address that the parser of GRANTOR_DATABASE_URL returns. `extra`: parameters of the URL. */
export function addressOf(url: string, extra = ''): PostgresAddress {
  const parsed = databaseUrl(extra === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${extra}`)
  if ('fault' in parsed || parsed.value.kind !== 'postgres') throw new Error('not the address of a PostgreSQL database')
  return parsed.value
}
