/** The two pools of a node, for reads and for changes, and how long a statement waits for a connection. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { NotSent } from '../../../src/store/postgres/connection/errors.ts'
import { ServerGroup } from '../../../src/store/postgres/connection/server-group.ts'
import { migratePostgres, type PostgresAddress, storeOn } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { addressOf, newPostgresDatabase } from '../../support/postgres.ts'
import { proxied } from '../../support/proxied.ts'
import { livingGrant, NOW, rotationOf } from '../contract/subject.ts'

async function openNew(parameters: string, change: Partial<PostgresAddress> = {}) {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const connection = new PostgresConnection({ ...addressOf(database.url, parameters), ...change }, { clock: 'given' })
  onTestFinished(() => connection.close())
  return { database, connection, store: storeOn(connection) }
}

test.each([1, 2, 3, 10])(
  'With pool_size=%i, many reads and changes at once open as many connections and no more',
  async (size) => {
    const { database, store } = await openNew(`pool_size=${size}&application_name=node`)
    const grants = await Promise.all(Array.from({ length: 20 }, () => livingGrant(store)))
    await Promise.all(
      grants.flatMap((grant) => [
        store.grants.rotateRefreshToken(rotationOf(grant, 0)),
        store.sessions.readSession('none'),
        store.grants.readGrant(grant.id),
        store.wallets.readEpoch(grant.wallet),
        store.grants.listGrants({ limit: 1 }),
        store.sessions.touchSession(grant.id, NOW),
      ]),
    )
    const [row] = await database.sql`
    SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = ${database.name} AND application_name = 'node'`
    expect(row?.count).toBe(size)
  },
)

/** A migrated database that allows a node one connection. */
async function newDatabaseOfOneConnection() {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const { sql, name } = database
  await sql.unsafe(
    `CREATE ROLE ${name} LOGIN PASSWORD 'p' CONNECTION LIMIT 1; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${name}`,
  )
  onTestFinished(async () => void (await sql.unsafe(`DROP OWNED BY ${name}; DROP ROLE ${name}`)))
  return { ...database.address, user: name, password: 'p' }
}

test('If a server allows a node one connection, reads and changes share it', async () => {
  const connection = new PostgresConnection(await newDatabaseOfOneConnection(), { clock: 'given' })
  onTestFinished(() => connection.close())
  const store = storeOn(connection)
  const grant = await livingGrant(store)
  for (let generation = 0; generation < 5; generation++) {
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, generation))).kind).toBe('rotated')
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: generation + 1 })
  }
})

test('If a server allows a node one connection, 300 reads at once share it, and the node does not open a connection for each of them', async () => {
  let opened = 0
  const address = await proxied(await newDatabaseOfOneConnection(), { onOpen: () => void opened++ })
  const connection = new PostgresConnection(address, { clock: 'given' })
  onTestFinished(() => connection.close())
  const outcomes = await Promise.allSettled(Array.from({ length: 300 }, () => connection.query('SELECT 1 AS one')))
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
  expect(opened).toBeLessThan(20)
})

test('After a server refused a connection, a node opens none for a second, and sends its statements over the open ones', async () => {
  let opened = 0
  const address = await proxied(await newDatabaseOfOneConnection(), { onOpen: () => void opened++ })
  const connection = new PostgresConnection(address, { clock: 'given' })
  onTestFinished(() => connection.close())
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const read = async () => expect(await connection.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  await read()
  expect(opened, 'one connection, and one that was refused').toBe(2)
  for (let count = 0; count < 20; count++) await Promise.all([read(), read()])
  expect(opened).toBe(2)
  vi.advanceTimersByTime(1000)
  await read()
  expect(opened).toBe(3)
})

test('A connection for which 10,000 statements have waited too long is used again', async () => {
  const { connection } = await openNew('pool_size=2&statement_timeout=2000')
  await connection.query('SELECT')
  const begun = performance.now()
  // One after the other, they use the connection for 2.9 seconds, so each statement that is queued in the first 1.4 seconds waits too long.
  const slow = [1, 1.9].map((seconds) => connection.prepare('read', `SELECT pg_sleep(${seconds})`)())
  const waiting = Array.from({ length: 9999 }, () => ({ at: performance.now() - begun, outcome: connection.query('SELECT') }))
  const outcomes = await Promise.allSettled(waiting.map(({ outcome }) => outcome))
  // A busy machine queues the last ones later.
  const early = outcomes.filter((_, index) => (waiting[index]?.at ?? 0) < 1300)
  expect(new Set(early.map(({ status }) => status))).toEqual(new Set(['rejected']))
  for (const rows of await Promise.all(slow)) expect(rows).toHaveLength(1)
  expect(await connection.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('A statement that waits longer than 1.5 seconds for a connection is refused, and is not sent later', async () => {
  const { database, connection } = await openNew('pool_size=2&statement_timeout=2000')
  await database.sql.unsafe('CREATE SEQUENCE sent')
  const slow = connection.prepare('read', `SELECT nextval('sent'), pg_sleep(1.8)`)
  await connection.query('SELECT')
  const outcomes = await Promise.allSettled([slow(), slow(), slow()])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  for (const each of outcomes) if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(StoreUnavailable)
  // The connection is free again: what waits in the pool would be sent now.
  await connection.query('SELECT')
  const [row] = await database.sql`SELECT last_value::integer AS count FROM sent`
  expect(row?.count).toBe(1)
})

test('If a node leaves a server, the statements that wait for a connection there are not sent, and can be sent to another server', async () => {
  const database = await newPostgresDatabase()
  const group = new ServerGroup(addressOf(database.url, 'pool_size=2'))
  onTestFinished(() => group.close())
  const read = (text: string) =>
    group.run({ kind: 'read', query: { name: '', text, values: [] }, attempt: 1, deadline: performance.now() + 5000 })
  const server = await group.find()
  const slow = read('SELECT pg_sleep(0.5)').catch((error: unknown) => error)
  const waiting = Array.from({ length: 1000 }, () => read('SELECT').catch((error: unknown) => error))
  group.leave(server)
  for (const each of await Promise.all(waiting)) expect(each).toBeInstanceOf(NotSent)
  await slow
  expect(await read('SELECT 1 AS one')).toEqual([{ one: 1 }])
})
