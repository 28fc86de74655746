/** An ending that concerns rows on several machines is acknowledged only after all of these rows have ended. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { loadPlacement } from '../../src/app/compose/database.ts'
import { ChainWriter } from '../../src/domain/audit/chain.ts'
import { newEntry } from '../../src/domain/audit/entry.ts'
import { endGrantsOfWallet } from '../../src/domain/consent/end-grants.ts'
import { endMatching } from '../../src/domain/consent/end-matching.ts'
import { sumOf } from '../../src/domain/model/pages.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../src/domain/model/store-errors.ts'
import { PostgresConnection } from '../../src/store/postgres/statements/connection.ts'
import { type CuttingProxy, startCuttingProxy } from '../chaos/cutting-proxy.ts'
import { seeded } from '../chaos/random.ts'
import { keyOf, readerOf } from '../store/contract/ending-order.ts'
import { livingGrant, NOW, rotationOf, someClient, someReceipt, someSession, someWallet } from '../store/contract/subject.ts'
import { packedLiteral } from '../support/fill.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let proxies: CuttingProxy[]
let store: Store
beforeAll(async () => {
  cluster = await startCluster(3, { log_statement: "'all'" })
  proxies = await Promise.all(cluster.workers.map(({ port }) => startCuttingProxy({ port })))
  database = await cluster.newDatabase({ ports: proxies.map(({ port }) => port) })
  await migratePostgres(database.address, NOW)
})
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await cluster.close()
})
beforeEach(async () => {
  store = await openPostgresStore(database.address, { clock: 'given' })
  onTestFinished(() => store.close())
})

const GRANTS = 12

async function grantsOf(wallet = someWallet(), clientId: string = randomUUID()) {
  const grants = await Promise.all(Array.from({ length: GRANTS }, () => livingGrant(store, { wallet, clientId })))
  return { wallet, clientId, ids: grants.map(({ id }) => id) }
}

const isLiving = async (id: string): Promise<boolean> => (await store.grants.readGrant(id))?.endedAt === null

test('An ending is acknowledged only if every grant has ended, also while connections to the workers are cut', {
  timeout: 180_000,
}, async () => {
  const random = seeded(Number(process.env.TEST_SEED ?? 13))
  let acknowledged = 0
  for (let round = 0; round < 40; round++) {
    const { wallet, clientId, ids } = await grantsOf()
    const end =
      round % 2 === 0
        ? () => endGrantsOfWallet(store, wallet, clientId, () => NOW)
        : () => sumOf(endMatching(store, { clientId }, { reason: 'client_deleted', now: () => NOW }))
    for (let cuts = random.below(4); cuts > 0; cuts--) random.pick(proxies).cutNext(random.pick(['before', 'after']))
    const outcome = await end().then(
      () => 'acknowledged',
      () => 'refused',
    )
    if (outcome === 'acknowledged') {
      acknowledged++
      expect(await Promise.all(ids.map(isLiving)), `of round ${round}`).not.toContain(true)
    }
  }
  expect(proxies.reduce((sum, proxy) => sum + proxy.cuts(), 0)).toBeGreaterThan(20)
  expect(acknowledged).toBeGreaterThan(20)
})

test('No statement of a request, of an ending or of an audit line needs a two-phase commit', async () => {
  cluster.forgetLog()
  const { wallet, clientId, ids } = await grantsOf()
  const [first = ''] = ids
  const sessions = Array.from({ length: GRANTS }, () => someSession({ wallet }))
  for (const session of sessions) await store.sessions.startSession(session, 'login')
  await store.wallets.rememberProof(wallet)
  for (let count = 0; count < 3; count++) await store.receipts.insertReceipt(someReceipt({ wallet, clientId }), 0)
  await store.grants.rotateRefreshToken(rotationOf((await store.grants.readGrant(first)) as never, 0))
  await store.grants.revokeAccessToken({ grantId: first, clientId, jti: 'j', expiresAt: NOW + 600, at: NOW })
  await store.spent.spend({ kind: 'dpop', hash: randomUUID(), expiresAt: NOW, attemptId: 'a' } as never)
  await store.spent.revokeClientToken({ hash: randomUUID(), clientId, attemptId: 'a', at: NOW })
  await store.pushedRequests.push({ id: randomUUID(), clientId, request: '{}', expiresAt: NOW, spentAt: null } as never)
  await store.checkWritable()
  await store.cleaning.takeLease('sweep', 'node', NOW, 60)
  await store.sessions.endSessions(
    sessions.map(({ hash }) => hash),
    'attempt',
    NOW,
  )
  await endGrantsOfWallet(store, wallet, undefined, () => NOW)
  const onWorker = await openPostgresStore({
    ...database.address,
    servers: [{ host: '127.0.0.1', port: cluster.workers[0]?.port ?? 0 }],
  })
  onTestFinished(() => onWorker.close())
  for (const { audit } of [store, onWorker])
    await new ChainWriter(audit, () => NOW).append([newEntry({ at: NOW, event: 'app_ended' })])
  const { number } = await store.restorations.beginRestoration(NOW)
  await grantsOf()
  expect((await store.restorations.endEverything(() => NOW)).grants).toBeGreaterThanOrEqual(GRANTS)
  await store.restorations.confirmRestoration(number, NOW)
  expect(cluster.log()).toContain('UPDATE')
  expect(cluster.log().match(/PREPARE TRANSACTION.*/g)).toBeNull()
})

/** The texts that each session of the servers has run since the log was forgotten, by its process. */
function statementsBySession(): string[] {
  const entries = cluster.log().split(/^(?=\d{4}-\d\d-\d\d .*? \[\d+\] )/m)
  const sessions = Map.groupBy(entries, (entry) => /\[(\d+)\]/.exec(entry)?.[1] ?? '')
  return [...sessions.values()].map((texts) => texts.join(''))
}

test('The change of a client and of the revision are one commit; what Citus prepares on the coordinator itself changes no row', async () => {
  cluster.forgetLog()
  const client = someClient()
  await store.clients.insertClient(client)
  await store.clients.changeClient(client.id, (present) => ({ ...present, name: 'other' }))
  await store.clients.deleteClient(client.id)
  const prepared = statementsBySession().filter((texts) => texts.includes('PREPARE TRANSACTION'))
  expect(prepared.length).toBeGreaterThan(0)
  for (const texts of prepared) {
    // The rows that the statement returned so far, copied for its other part.
    expect(texts).toContain('COPY')
    expect(texts).not.toMatch(/\b(INSERT|UPDATE|DELETE)\b/)
  }
})

test('An ending that is held open on a worker is read after its commit, from every machine, though later endings were read before', {
  timeout: 120_000,
}, async () => {
  const addresses = [cluster.coordinator, ...cluster.workers].map(({ port }) => ({
    ...database.address,
    servers: [{ host: '127.0.0.1', port }],
  }))
  const stores = await Promise.all(addresses.map((address) => openPostgresStore(address)))
  onTestFinished(async () => void (await Promise.all(stores.map((each) => each.close()))))
  const reads = stores.map((each) => readerOf(each))
  const found = reads.map(() => new Set<string>())
  const readAll = async () => {
    for (const [index, read] of reads.entries()) for (const ending of await read()) found[index]?.add(keyOf(ending))
  }
  const [held = '', ...others] = (await grantsOf()).ids
  await readAll()
  await database.sql.unsafe(
    `BEGIN; UPDATE grants SET ended_at = floor(extract(epoch FROM statement_timestamp()))::bigint, end_reason = 'revoked' WHERE id = ${packedLiteral(held)}`,
  )
  // Longer than a statement can wait in a connection between two machines.
  for (const id of others.slice(0, 10)) {
    expect(await stores[0]?.grants.endGrant(id, 'revoked', NOW)).toBe('ended')
    await readAll()
    await new Promise((resolve) => setTimeout(resolve, 2000))
  }
  for (const each of found) {
    expect([...each]).toEqual(expect.arrayContaining(others.slice(0, 10)))
    expect([...each]).not.toContain(held)
  }
  await database.sql.unsafe('COMMIT')
  await readAll()
  for (const each of found) expect([...each]).toContain(held)
})

test('The endings cannot be read while a machine of the cluster does not respond', async () => {
  const read = readerOf(await openPostgresStore(database.address).then((each) => (onTestFinished(() => each.close()), each)))
  await read()
  cluster.workers[0]?.freeze()
  try {
    await expect(read()).rejects.toThrow(StoreUnavailable)
  } finally {
    cluster.workers[0]?.thaw()
  }
  await expect
    .poll(
      () =>
        read().then(
          () => true,
          () => false,
        ),
      { timeout: 20_000 },
    )
    .toBe(true)
})

test('The settings of a connection hold on its machine, and not on the machines to which Citus forwards a statement', async () => {
  const connection = new PostgresConnection(database.address, { clock: 'given', loadPlacement })
  onTestFinished(() => connection.close())
  expect(await connection.prepare('read', 'SHOW enable_seqscan')()).toEqual([{ enable_seqscan: 'off' }])
  const { ids } = await grantsOf()
  cluster.forgetLog()
  // Without a place, the statement runs on the server of the settings.
  const change = connection.prepare('move', 'UPDATE grants SET end_reason = end_reason WHERE id = :id::packed')
  for (const id of ids) await change({ id })
  const forwarded = () => statementsBySession().filter((texts) => /UPDATE public\.grants_\d+/.test(texts))
  await expect.poll(() => forwarded().length).toBeGreaterThan(0)
  for (const texts of forwarded()) expect(texts).not.toMatch(/enable_seqscan|jit|statement_timeout/)
})
