/**
 * PostgreSQL and the network in front of it under bad conditions: unusual settings, silence, malformed messages, and no free
 * connections.
 */

import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress, storeOn } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { addressOf, newPostgresDatabase } from '../../support/postgres.ts'
import { proxied } from '../../support/proxied.ts'
import { livingGrant, NOW, rotationOf, someClient, someKey } from '../contract/subject.ts'

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

async function openNew(extra = '') {
  const database = await newMigratedDatabase()
  return { database, store: await open(addressOf(database.url, extra)) }
}

/** Of many similar or slow cases `npm test` runs a few. `npm run test:store` runs all. */
const ALL = process.env.TEST_STORE === 'full'
const someOf = <Case>(cases: Case[], few: number): Case[] => (ALL ? cases : cases.slice(0, few))

const message = (code: string, ...body: number[]) => {
  const head = Buffer.alloc(5)
  head.write(code)
  head.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

test('A key is read byte for byte from a database with bytea_output set to escape', async () => {
  const { database } = await openNew()
  await database.sql.unsafe(`ALTER DATABASE ${database.name} SET bytea_output = 'escape'`)
  const store = await open(database.address)
  const key = someKey()
  await store.keys.insertKey(key)
  expect((await store.keys.listKeys())[0]?.wrapped).toEqual(key.wrapped)
})

const MALFORMED: [string, Buffer][] = [
  ['an empty query', message('I')],
  ['a suspended portal', message('s')],
  ['a request for COPY data', message('G', 0, 0, 0)],
  ['a row description without its fields', message('T', 0, 9)],
  ['an unknown authentication method', message('R', 0, 0, 0, 99)],
  ['an unknown message type', message('~')],
  ['a second ReadyForQuery', message('Z', 73)],
]

test.each(someOf(MALFORMED, 1))(
  'If a server sends %s in place of a row, the read fails with StoreUnavailable, and later reads work',
  async (_, malformed) => {
    const database = await newMigratedDatabase()
    let malfunctioning = false
    const address = await proxied(addressOf(database.url, 'pool_size=1'), {
      toClient: (bytes, { client }) => client.write(malfunctioning ? malformed : bytes),
    })
    const store = await open(address)
    const grant = await livingGrant(store)
    malfunctioning = true
    await expect(store.grants.readGrant(grant.id)).rejects.toBeInstanceOf(StoreUnavailable)
    malfunctioning = false
    const read = () => store.grants.readGrant(grant.id).catch(() => null)
    await expect.poll(read).toMatchObject({ id: grant.id })
  },
)

test('A server that requires an unsupported authentication method is refused with StoreUnavailable', async () => {
  const database = await newMigratedDatabase()
  const address = await proxied(database.address, { toClient: (_, { client }) => client.write(message('R', 0, 0, 0, 7)) })
  await expect(openPostgresStore(address)).rejects.toBeInstanceOf(StoreUnavailable)
})

const SILENT_AT: [string, boolean][] = [
  ['the start', true],
  ['a read in operation', false],
]

test.each(someOf(SILENT_AT, 1))(
  'A server that accepts a login and then stops responding does not block the store: at %s',
  async (_, starting) => {
    const database = await newMigratedDatabase()
    let silent = starting
    const address = await proxied(addressOf(database.url, 'pool_size=1&connect_timeout=1&statement_timeout=300'), {
      // Every message after the login is dropped.
      toServer: (bytes, { server }) => {
        if (!(silent && (bytes[0] === 'P'.charCodeAt(0) || bytes[0] === 'Q'.charCodeAt(0)))) server.write(bytes)
      },
    })
    if (starting) {
      const opened = openPostgresStore(address).catch((error: unknown) => error)
      const late = new Promise((resolve) => setTimeout(() => resolve('still waiting'), 8000))
      expect(await Promise.race([opened, late])).toBeInstanceOf(StoreUnavailable)
      return
    }
    const store = await open(address)
    const grant = await livingGrant(store)
    silent = true
    for (let attempt = 0; attempt < 3; attempt++) await store.grants.readGrant(grant.id).catch(() => undefined)
    silent = false
    await expect.poll(() => store.grants.readGrant(grant.id).catch(() => null)).toMatchObject({ id: grant.id })
  },
)

test('If a server allows no more connections, the store works with the connections that are open', async () => {
  const database = await newMigratedDatabase()
  const { sql, name } = database
  await sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'p'`)
  onTestFinished(async () => void (await sql.unsafe(`DROP OWNED BY ${name}; DROP ROLE ${name}`)))
  await sql.unsafe(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${name}; ALTER ROLE ${name} CONNECTION LIMIT 2`)
  const store = await open({ ...database.address, user: name, password: 'p' })
  const grants = await Promise.all(Array.from({ length: 50 }, () => livingGrant(store)))
  const refused: unknown[] = []
  for (let generation = 0; generation < 10; generation++) {
    const outcomes = await Promise.allSettled(
      grants.flatMap((grant) => [
        store.grants.rotateRefreshToken(rotationOf(grant, generation)) as Promise<unknown>,
        store.grants.readGrant(grant.id),
      ]),
    )
    refused.push(...outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : [])))
  }
  expect(new Set(refused)).toEqual(new Set())
})

test('If the database password is changed, the open connections still work', async () => {
  const database = await newMigratedDatabase()
  const { sql, name } = database
  await sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'p'`)
  onTestFinished(async () => void (await sql.unsafe(`DROP OWNED BY ${name}; DROP ROLE ${name}`)))
  await sql.unsafe(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${name}`)
  const store = await open({ ...database.address, user: name, password: 'p' })
  const grant = await livingGrant(store)
  await sql.unsafe(`ALTER ROLE ${name} PASSWORD 'another'`)
  const outcomes = await Promise.allSettled(Array.from({ length: 300 }, () => livingGrant(store)))
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
  expect(new Set(refused)).toEqual(new Set())
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ id: grant.id })
})

const ENVIRONMENT = {
  PGOPTIONS: '-c default_transaction_read_only=on',
  PGREPLICATION: 'database',
  PGSSLNEGOTIATION: 'direct',
  PGSSLMODE: 'require',
  PGHOST: 'nowhere.invalid',
  PGPORT: '1',
  PGUSER: 'nobody',
  PGDATABASE: 'nowhere',
  PGPASSWORD: 'wrong',
  PGPASSFILE: '/nonexistent',
  PGSERVICE: 'nowhere',
  PGCLIENT_ENCODING: 'LATIN1',
  PGAPPNAME: 'other',
}

test.each(someOf(Object.entries(ENVIRONMENT), 3))(
  'The environment variable %s does not change the server, or how the store connects to it',
  async (name, value) => {
    const database = await newMigratedDatabase()
    vi.stubEnv(name, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    const store = await open(addressOf(database.url, 'application_name='))
    await store.checkWritable()
    const [row] = await database.sql.unsafe(
      'SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    expect(row?.application_name).toBe('')
  },
)

test.runIf(ALL)('A statement whose caller has timed out is not sent over a connection that opens later', async () => {
  const database = await newMigratedDatabase()
  let slow = false
  const address = await proxied(addressOf(database.url, 'pool_size=3&connect_timeout=10'), {
    // The waiting connection is free again, and another one open, only after the caller of the second statement has got its
    // error.
    toServer: (bytes, { server, number }) => void setTimeout(() => server.write(bytes), slow ? (number > 1 ? 800 : 300) : 0),
  })
  const store = await open(address)
  const grant = await livingGrant(store)
  slow = true
  await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(grant.id)} FOR UPDATE`
    const stuck = store.grants.endGrant(grant.id, 'revoked', NOW).catch(() => 'unavailable')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await store.clients.insertClient(someClient()).catch(() => 'unavailable')).toBe('unavailable')
    await stuck
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect(await holder`SELECT id FROM clients`).toEqual([])
  })
})

test('Reads succeed while as many writes wait for a locked row as there are connections', async () => {
  const { database, store } = await openNew('pool_size=4')
  const [held, free] = [await livingGrant(store), await livingGrant(store)]
  await database.sql.begin(async (holder) => {
    await holder`SELECT 1 FROM grants WHERE id = ${pack(held.id)} FOR UPDATE`
    const stuck = Array.from({ length: 20 }, () =>
      store.grants.endGrant(held.id, 'revoked', NOW).catch((error: unknown) => error),
    )
    await new Promise((resolve) => setTimeout(resolve, 400))
    // Before the first of them has timed out and released its connection.
    expect(await Promise.race([store.grants.readGrant(free.id), ...stuck])).toMatchObject({ id: free.id })
    await Promise.all(stuck)
  })
})

test('A value that cannot be serialized fails its own statement with a TypeError, and no other statement', async () => {
  const database = await newMigratedDatabase()
  const connection = new PostgresConnection(addressOf(database.url, 'pool_size=1'), { clock: 'given' })
  const store = storeOn(connection)
  onTestFinished(() => store.close())
  const grant = await livingGrant(store)
  const impossible = connection.prepare('move', 'UPDATE grants SET generation = :n WHERE id = :id::packed')
  const rotated = store.grants.rotateRefreshToken(rotationOf(grant, 0))
  const failure = (async () => impossible({ n: 10n, id: grant.id }))().catch((error: unknown) => error)
  expect(await failure).toBeInstanceOf(TypeError)
  expect(await rotated).toMatchObject({ kind: 'rotated' })
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 1 })
})
