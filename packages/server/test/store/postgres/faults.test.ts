/** PostgreSQL that fails: the outcome of each operation, and the recovery without a restart. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress } from '../../../src/store/postgres/index.ts'
import { freePorts } from '../../support/free-ports.ts'
import { addressOf, newPostgresDatabase } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { livingGrant, NOW, newGrant, rotationOf } from '../contract/subject.ts'

async function open(address: PostgresAddress) {
  const store = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => store.close())
  return store
}

async function openNew(extra = '') {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const address = addressOf(database.url, extra)
  return { database, address, store: await open(address) }
}

/** Ends all connections of the stores. Resolves when they are closed. */
const endConnections = ({ sql, name }: Awaited<ReturnType<typeof newPostgresDatabase>>) =>
  sql`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ${name} AND pid <> pg_backend_pid()`

test('Every refresh takes effect exactly once and returns its result, although all connections are cut again and again', async () => {
  const { database, store } = await openNew()
  const grants = await Promise.all(Array.from({ length: 8 }, () => livingGrant(store)))
  const done = new AbortController()
  const cut = (async () => {
    while (!done.signal.aborted) {
      await endConnections(database)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  })()
  const kinds = await Promise.all(
    grants.map(async (grant) => {
      const kindsOfGrant: string[] = []
      for (let generation = 0; generation < 40; generation++) {
        const rotation = rotationOf(grant, generation)
        // A caller that gets 503 sends its request again. The same attempt id marks it as a retry.
        const outcome = await store.grants.rotateRefreshToken(rotation).catch(() => store.grants.rotateRefreshToken(rotation))
        kindsOfGrant.push(outcome.kind)
      }
      return kindsOfGrant
    }),
  )
  done.abort()
  await cut
  expect(new Set(kinds.flat())).toEqual(new Set(['rotated']))
  for (const grant of grants) expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 40, endedAt: null })
})

test('A code whose insert waits for a lock while its connection is cut is redeemed once, by the retry', async () => {
  const { database, store } = await openNew()
  const grant = newGrant()
  await store.checkWritable()
  const redeemed = await database.sql.begin(async (holder) => {
    await holder.unsafe('LOCK TABLE grants IN EXCLUSIVE MODE')
    const under = store.grants.redeemCode(grant, 'attempt', NOW)
    const waiting = () => holder`SELECT pid FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await waiting()).length).toBe(1)
    await holder`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event_type = 'Lock'`
    return { under }
  })
  expect((await redeemed.under).kind).toBe('redeemed')
  expect(await store.grants.listGrants({ limit: 10 })).toHaveLength(1)
})

test('A refresh of a locked row fails with StoreUnavailable in less than three seconds, and delays no refresh of another grant', async () => {
  const { database, store } = await openNew()
  const [locked, free] = [await livingGrant(store), await livingGrant(store)]
  const rotation = rotationOf(locked, 0)
  await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(locked.id)} FOR UPDATE`
    const before = performance.now()
    const stuck = store.grants.rotateRefreshToken(rotation).catch((error: unknown) => error)
    expect((await store.grants.rotateRefreshToken(rotationOf(free, 0))).kind).toBe('rotated')
    expect(await stuck).toBeInstanceOf(StoreUnavailable)
    expect(performance.now() - before).toBeLessThan(3000)
  })
  expect((await store.grants.rotateRefreshToken(rotation)).kind).toBe('rotated')
})

test('A read is refused at once when 10,000 statements wait, and the waiting statements are completed', async () => {
  const { database, store } = await openNew('pool_size=2')
  const grant = await livingGrant(store)
  const outcomes = await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(grant.id)} FOR UPDATE`
    // Each revokes another token: calls for the same change share one statement.
    const token = { grantId: grant.id, clientId: grant.clientId, expiresAt: NOW + 600, at: NOW }
    const revocations = Array.from({ length: 10_002 }, () =>
      store.grants.revokeAccessToken({ ...token, jti: randomUUID() }).catch((error: unknown) => error),
    )
    const before = performance.now()
    await expect(store.grants.readGrant(grant.id)).rejects.toThrow('too many statements are waiting')
    expect(performance.now() - before).toBeLessThan(1000)
    return { revocations }
  })
  const settled = await Promise.all(outcomes.revocations)
  const completed = settled.filter((each) => !(each instanceof StoreUnavailable))
  expect(completed).toContain('revoked')
  expect(completed.filter((each) => !['revoked', 'grant_ended', 'grant_ended_before'].includes(each as string))).toEqual([])
  // On a busy machine, too few of them are in time to end the grant, which the 65th does.
  for (let more = 0; more < 65; more++)
    await store.grants.revokeAccessToken({
      grantId: grant.id,
      clientId: grant.clientId,
      jti: randomUUID(),
      expiresAt: NOW + 600,
      at: NOW,
    })
  expect((await store.grants.readGrant(grant.id))?.endReason).toBe('too_many_revoked_tokens')
})

test('If the database is read-only, writes fail with StoreUnavailable, reads succeed, and writes work again without a restart', async () => {
  const { database, store } = await openNew()
  const grant = await livingGrant(store)
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`)
  await endConnections(database)
  await expect(store.grants.endGrant(grant.id, 'revoked', NOW)).rejects.toThrow('25006')
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ endedAt: null })
  await database.sql.unsafe(`ALTER DATABASE ${database.name} RESET default_transaction_read_only`)
  const end = () => store.grants.endGrant(grant.id, 'revoked', NOW).catch(() => 'unavailable')
  await expect.poll(end, { interval: 100 }).toMatch(/^ended/)
})

test('A store does not open if the server has no free connection, the password is wrong or the database does not exist', async () => {
  const { database, store } = await openNew()
  await database.sql.unsafe(`ALTER DATABASE ${database.name} CONNECTION LIMIT 1`)
  await database.sql.unsafe(`CREATE ROLE ${database.name} LOGIN PASSWORD 'p'`)
  onTestFinished(async () => void (await database.sql.unsafe(`DROP OWNED BY ${database.name}; DROP ROLE ${database.name}`)))
  await database.sql.unsafe(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${database.name}`)
  const asOther = { ...database.address, user: database.name, password: 'p' }
  await expect(openPostgresStore(asOther)).rejects.toThrow('53300')
  await expect(openPostgresStore({ ...asOther, password: 'wrong' })).rejects.toThrow('28P01')
  await expect(openPostgresStore({ ...asOther, database: 'nowhere' })).rejects.toThrow('3D000')
  await store.checkWritable()
})

test('A database with synchronous_commit off is refused, because it acknowledges before it has stored', async () => {
  const { database, address } = await openNew()
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET synchronous_commit = off`)
  await expect(openPostgresStore(address)).rejects.toThrow('acknowledges before it has stored')
})

test('A server without TLS is refused if sslmode requires TLS', async () => {
  const { database } = await openNew()
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    await expect(openPostgresStore(addressOf(database.url, `sslmode=${mode}`))).rejects.toBeInstanceOf(StoreUnavailable)
  }
})

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

test.each(['fast', 'immediate', 'kill'] as const)(
  'While a server is stopped (%s) calls fail with StoreUnavailable, and after its start they work again without a restart',
  async (how) => {
    const address = addressOf(server.urlOf('postgres'))
    await migratePostgres(address, NOW)
    const store = await open(address)
    const grant = await livingGrant(store)
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
    await server.stop(how)
    const before = performance.now()
    await expect(store.grants.readGrant(grant.id)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(performance.now() - before).toBeLessThan(2500)
    const again = performance.now()
    const many = await Promise.allSettled(Array.from({ length: 500 }, () => store.grants.readGrant(grant.id)))
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(performance.now() - again, 'refused without waiting, once it is known').toBeLessThan(1000)
    await server.start()
    const read = () => store.grants.readGrant(grant.id).catch(() => null)
    await expect.poll(read, { interval: 50 }).toMatchObject({ generation: 1, endedAt: null })
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 1))).kind).toBe('rotated')
  },
)

test('Of several servers the store uses one that accepts writes, and an unreachable one does not prevent that', async () => {
  const address = addressOf(server.urlOf('postgres'))
  await migratePostgres(address, NOW)
  const [dead = 0] = await freePorts(1)
  const [living] = address.servers
  if (!living) throw new Error('no server')
  const several: PostgresAddress = { ...address, target: 'read-write', servers: [{ host: '127.0.0.1', port: dead }, living] }
  const store = await open(several)
  expect((await store.grants.redeemCode(newGrant(), randomUUID(), NOW)).kind).toBe('redeemed')
  await expect(openPostgresStore({ ...address, servers: [{ host: '127.0.0.1', port: dead }] })).rejects.toThrow(
    `ECONNREFUSED 127.0.0.1:${dead}`,
  )
})

test('A server that does not wait for its synchronous standby is refused, because a failover would lose acknowledged writes', async () => {
  const address = addressOf(server.urlOf('postgres'))
  const sql = connect(server.urlOf('postgres'))
  // Set globally only after this connection itself no longer waits for a standby: the named standby does not exist.
  await sql.unsafe("ALTER SYSTEM SET synchronous_commit = 'local'")
  await sql.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'")
  await sql.unsafe('SELECT pg_reload_conf()')
  await expect.poll(() => openPostgresStore(address).catch(String)).toContain('acknowledges before it has stored')
  await sql.unsafe("ALTER SYSTEM SET synchronous_standby_names = ''")
  await sql.unsafe('SELECT pg_reload_conf()')
  const openWithoutStandby = () => openPostgresStore(address).then((store) => store.close().then(() => 'opened'), String)
  await expect.poll(openWithoutStandby, { interval: 50 }).toBe('opened')
  await sql.end()
})
