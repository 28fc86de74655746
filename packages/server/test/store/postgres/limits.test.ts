/** One request must not harm another: silent networks, slow statements, overload, replicas and standbys on PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress, storeOn } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { addressOf, newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { administrator, startPostgres } from '../../support/postgres-server.ts'
import { proxied } from '../../support/proxied.ts'
import { livingGrant, NOW, rotationOf } from '../contract/subject.ts'

async function newMigratedDatabase() {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  return database
}

async function open(address: PostgresAddress) {
  const store = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => store.close())
  return store
}

/** Creates grants, 50 at once: all at once would overload the database of a busy machine before the test begins. */
async function many(store: Store, count: number): Promise<NewGrant[]> {
  const grants: NewGrant[] = []
  while (grants.length < count) {
    const next = Array.from({ length: Math.min(50, count - grants.length) }, () => livingGrant(store))
    grants.push(...(await Promise.all(next)))
  }
  return grants
}
const refusal = (error: unknown) => error

/**
 * For each way in which a network goes silent: the bytes that still arrive, and the PostgreSQL version since which it is
 * tested.
 */
const SILENCES: [string, (bytes: Buffer, sent: number) => Buffer, since: number][] = [
  ['after the first 2,920 bytes of a burst', (bytes, sent) => bytes.subarray(0, Math.max(0, 2920 - sent)), 15],
  // The worst time: every statement has run, and the commit never arrives. Only `transaction_timeout` ends such a transaction
  // if a middlebox still acknowledges every packet. PostgreSQL has this setting since version 17.
  ['right before the Sync that would commit', (bytes, sent) => (sent === 0 ? bytes.subarray(0, -5) : Buffer.alloc(0)), 17],
]

test.for(SILENCES)(
  "If a node's network goes silent %s, another node can end all of its grants within seconds: no row stays locked",
  async ([, passed, since], { skip }) => {
    const database = await newMigratedDatabase()
    const [version] = await database.sql`SELECT current_setting('server_version_num')::integer / 10000 AS major`
    skip(Number(version?.major) < since, 'this server has no transaction_timeout')
    let silent = false
    const sent = new Map<number, number>()
    const address = await proxied(database.address, {
      hidesClosing: true,
      toServer: (bytes, { server, number }) => {
        if (!silent) return void server.write(bytes)
        const before = sent.get(number) ?? 0
        sent.set(number, before + bytes.length)
        server.write(passed(bytes, before))
      },
      toClient: (bytes, { client }) => void (silent || client.write(bytes)),
    })
    const [behind, healthy] = [await open(address), await open(database.address)]
    const grants = await many(behind, 64)
    await Promise.all(grants.map((grant) => behind.grants.rotateRefreshToken(rotationOf(grant, 0))))
    silent = true
    const lost = Promise.all(grants.map((grant) => behind.grants.rotateRefreshToken(rotationOf(grant, 1)).catch(refusal)))
    await expect.poll(() => sent.size).toBeGreaterThan(0)
    for (const grant of grants) {
      const end = () => healthy.grants.endGrant(grant.id, 'revoked', NOW).catch(() => 'locked')
      await expect.poll(end, { timeout: 5000, interval: 50 }).not.toBe('locked')
    }
    expect((await lost).every((each) => each instanceof StoreUnavailable)).toBe(true)
  },
)

test('Ten slow reads on five connections for reads all succeed, close no connection, and do not make an unrelated refresh fail', async () => {
  const database = await newMigratedDatabase()
  const connection = new PostgresConnection(database.address, { clock: 'given' })
  const store = storeOn(connection)
  onTestFinished(() => store.close())
  const slow = connection.prepare<{ pid: number }>('read', 'SELECT pg_backend_pid() AS pid, pg_sleep(0.9)')
  const pids = async () =>
    (await database.sql`SELECT pid FROM pg_stat_activity WHERE datname = ${database.name} AND pid <> pg_backend_pid()`).map(
      ({ pid }) => Number(pid),
    )
  const asleep = async () =>
    (await database.sql`SELECT pid FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event = 'PgSleep'`).length
  const grant = await livingGrant(store)
  const reads = Array.from({ length: 10 }, () => slow())
  await expect.poll(asleep).toBe(5)
  const before = await pids()
  expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
  const answered = await Promise.all(reads)
  expect(answered.every(([row]) => row && row.pid > 0)).toBe(true)
  expect(await pids()).toEqual(expect.arrayContaining(before))
})

/** Locks a table until the function that is returned is called. */
async function lockTable({ sql }: PostgresDatabase, table: string): Promise<() => Promise<unknown>> {
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const locking = sql.begin(async (holder) => {
    await holder.unsafe(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    locked.resolve()
    await released.promise
  })
  onTestFinished(() => released.resolve())
  await locked.promise
  return () => {
    released.resolve()
    return locking
  }
}

test('Look-ups of clients, which any caller can cause, take two connections at most: while they wait, grants are still read', async () => {
  const database = await newMigratedDatabase()
  const store = await open({ ...database.address, poolSize: 6 })
  const grant = await livingGrant(store)
  const unlock = await lockTable(database, 'clients')
  const lookUps: Promise<unknown>[] = []
  for (let count = 0; count < 20; count++) {
    lookUps.push(store.clients.readClient(randomUUID()).catch(refusal))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ id: grant.id })
  await unlock()
  expect(await Promise.all(lookUps)).toEqual(Array.from({ length: 20 }, () => null))
})

test.for<[string, (store: Store, id: string) => Promise<unknown>]>([
  ['sessions', (store, id) => store.sessions.readSession(id)],
  ['pushed_requests', (store, id) => store.pushedRequests.readPushed(id)],
])(
  'Forty reads of the table %s, which any caller can cause, leave connections for the reads of grants',
  async ([table, read]) => {
    const database = await newMigratedDatabase()
    const store = await open(database.address)
    const grant = await livingGrant(store)
    await read(store, randomUUID())
    const unlock = await lockTable(database, table)
    const reads = Array.from({ length: 40 }, () => read(store, randomUUID()).catch(refusal))
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ id: grant.id })
    await unlock()
    expect(await Promise.all(reads)).toEqual(Array.from({ length: 40 }, () => null))
  },
)

test("At three times the database's capacity some refreshes are refused, and over 80 % of those that took effect were acknowledged", async () => {
  const database = await newMigratedDatabase()
  const store = await open(database.address)
  const grants = await many(store, 1200)
  await database.sql.unsafe(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.04); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE UPDATE ON grants FOR EACH ROW EXECUTE FUNCTION slow()`)
  const refreshes: Promise<unknown>[] = []
  // Five connections update at most 125 rows a second.
  for (const [index, grant] of grants.entries()) {
    refreshes.push(store.grants.rotateRefreshToken(rotationOf(grant, 0)).catch(refusal))
    if (index % 27 === 26) await new Promise((resolve) => setTimeout(resolve, 40))
  }
  const outcomes = await Promise.all(refreshes)
  const acknowledged = outcomes.filter((each) => !(each instanceof StoreUnavailable))
  await store.close()
  const [row] = await database.sql`SELECT count(*)::integer AS count FROM grants WHERE generation > 0`
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(acknowledged.length, 'some were refused').toBeLessThan(outcomes.length)
  expect(acknowledged.length / Number(row?.count)).toBeGreaterThan(0.8)
})

test('A new connection that leads to a read-only replica behind the same name is not used', async () => {
  const database = await newMigratedDatabase()
  const store = await open(database.address)
  const grant = await livingGrant(store)
  // A new connection has sent no query, or the one that finds the replica.
  const connections = async () =>
    (
      await database.sql`
        SELECT pid FROM pg_stat_activity
        WHERE datname = ${database.name} AND pid <> pg_backend_pid() AND state = 'idle'
          AND query <> '' AND query NOT LIKE '%pg_is_in_recovery%'
        ORDER BY pid`
    ).map(({ pid }) => Number(pid))
  const before = await connections()
  // A replica reports this setting.
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`)
  const answers = await Promise.all([
    ...Array.from({ length: 50 }, () => store.sessions.readSession('none')),
    ...Array.from({ length: 50 }, () => store.wallets.readEpoch(grant.wallet)),
  ])
  expect(answers).toHaveLength(100)
  expect(before).not.toEqual([])
  expect(await connections(), 'every statement ran over the connections that were open').toEqual(before)
  expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
})

test.each(['pg_cancel_backend', 'pg_terminate_backend'])(
  'A refresh is not acknowledged if an administrator ends its wait for a synchronous standby with %s',
  async (end) => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const address = addressOf(server.urlOf('postgres'))
    await migratePostgres(address, NOW)
    const store = await open(address)
    const [grant, other] = [await livingGrant(store), await livingGrant(store)]
    const admin = await administrator(server)
    await admin`ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'`
    await admin`SELECT pg_reload_conf()`
    const waiting = () => admin`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    // The processes of the server apply the setting one after the other.
    const commitWaits = async () => {
      void store.checkWritable().catch(refusal)
      return (await waiting()).length
    }
    await expect.poll(commitWaits).toBeGreaterThan(0)
    const probes = (await waiting()).map(({ pid }) => Number(pid))
    const stuck = store.grants.rotateRefreshToken(rotationOf(grant, 0)).catch(refusal)
    await expect.poll(async () => (await waiting()).filter(({ pid }) => !probes.includes(pid)).length).toBe(1)
    await admin.unsafe(`SELECT ${end}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
    expect(await stuck).toBeInstanceOf(StoreUnavailable)
    expect(await store.grants.readGrant(other.id), 'reads go on').toMatchObject({ generation: 0 })
  },
)
