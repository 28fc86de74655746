/** A pooler in front of PostgreSQL. The tests need Debian's `pgbouncer`, and are skipped without it. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { hasPgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'
import { addressOf } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { livingGrant, NOW, rotationOf } from '../contract/subject.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
  await migratePostgres(addressOf(server.urlOf('postgres')), NOW)
})
afterAll(() => server.remove())

const open = (url: string) => openPostgresStore(addressOf(url), { clock: 'given' })
const REFUSED = /a pooler in front of PostgreSQL shares its connections/

const SHARING = [
  { what: 'transaction pooling', settings: { pool_mode: 'transaction' } },
  { what: 'transaction pooling of one connection', settings: { pool_mode: 'transaction', default_pool_size: 1 } },
  { what: 'transaction pooling in turn', settings: { pool_mode: 'transaction', server_round_robin: 1, min_pool_size: 2 } },
  { what: 'statement pooling', settings: { pool_mode: 'statement' } },
]

test.skipIf(!hasPgBouncer).for(SHARING)(
  'A store does not open, and a migration does not begin, behind PgBouncer with $what',
  async ({ settings }) => {
    const url = await startPgBouncer(server, settings)
    await expect(open(url)).rejects.toThrow(REFUSED)
    await expect(migratePostgres(addressOf(url), NOW)).rejects.toThrow(REFUSED)
  },
)

test.skipIf(!hasPgBouncer)(
  'A store does not open behind PgBouncer with transaction pooling, while other clients use the connections',
  async () => {
    const url = await startPgBouncer(server, { pool_mode: 'transaction', min_pool_size: 5 })
    const state = { isOver: false }
    const others = Array.from({ length: 8 }, async () => {
      const sql = connect(url)
      while (!state.isOver) await sql`SELECT pg_sleep(0.002)`
      await sql.end()
    })
    for (let times = 10; times > 0; times--) await expect(open(url)).rejects.toThrow(REFUSED)
    state.isOver = true
    await Promise.all(others)
  },
)

test.skipIf(!hasPgBouncer)('A store opens behind PgBouncer with session pooling', async () => {
  const store = await open(await startPgBouncer(server, { pool_mode: 'session' }))
  onTestFinished(() => store.close())
  const grant = await livingGrant(store)
  expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
  expect(await store.grants.endGrant(grant.id, 'revoked', NOW)).toBe('ended')
})
