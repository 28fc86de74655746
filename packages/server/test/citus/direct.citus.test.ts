/** A node sends a statement for one row straight to the machine that holds the row. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { loadPlacement } from '../../src/app/compose/database.ts'
import type { NewGrant } from '../../src/domain/model/request-store.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../src/domain/model/store-errors.ts'
import { DISTRIBUTED } from '../../src/store/citus/distribution.ts'
import { CHECK } from '../../src/store/citus/shard-statements.ts'
import { pack } from '../../src/store/packed.ts'
import { PostgresConnection } from '../../src/store/postgres/statements/connection.ts'
import { someApproval } from '../store/contract/approvals.ts'
import { drawOf, signedLimit } from '../store/contract/draws.ts'
import { livingGrant, NOW, rotationOf, someSession } from '../store/contract/subject.ts'
import { packedLiteral } from '../support/fill.ts'
import type { PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres, openPostgresStore } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

let cluster: Cluster
let database: PostgresDatabase
let store: Store
/** where a node arrives that connects to the last worker; the machines of the cluster always arrive there */
let leadsTo: 'its machine' | 'another machine' | 'nowhere' = 'its machine'
let network: Server

beforeAll(async () => {
  cluster = await startCluster(3, {
    log_statement: "'all'",
    // A shard that was moved stays as a copy on its former machine.
    'citus.defer_shard_delete_interval': '-1',
  })
  const ports = cluster.workers.map(({ port }) => port)
  network = createServer((client) => {
    client.once('data', (startup: Buffer) => {
      const to = startup.includes('\0the node\0') ? leadsTo : 'its machine'
      if (to === 'nowhere') {
        client.destroy()
        return
      }
      const server = connect((to === 'its machine' ? ports[2] : ports[1]) ?? 0, '127.0.0.1')
      for (const each of [client, server]) each.on('error', () => undefined)
      server.write(startup)
      client.pipe(server).pipe(client)
    })
  })
  await once(network.listen(0, '127.0.0.1'), 'listening')
  database = await cluster.newDatabase({ ports: [...ports.slice(0, 2), (network.address() as AddressInfo).port] })
  await migratePostgres(database.address, NOW)
})
afterAll(async () => {
  network.close()
  await cluster.close()
})
beforeEach(async () => {
  store = await openPostgresStore({ ...database.address, applicationName: 'the node' }, { clock: 'given' })
  onTestFinished(async () => {
    leadsTo = 'its machine'
    await store.close()
  })
})

/** The tables of requests, and their shards. */
const ROWS = /\b(FROM|INTO|UPDATE) (public\.)?(grants|sessions|spent|wallets|receipts|pushed_requests|approvals|draws)(_\d+)?\b/

/** Whether the coordinator, and each worker after it, had a statement on these tables while a task ran. */
async function serversUsedBy(task: () => Promise<unknown>): Promise<boolean[]> {
  await untilLogged()
  cluster.forgetLog()
  await task()
  await untilLogged()
  return cluster.logs().map((log) => ROWS.test(log))
}

/** Resolves when each server has written to its log what it has run so far. */
async function untilLogged(): Promise<void> {
  const mark = randomUUID()
  const servers = [cluster.coordinator, ...cluster.workers]
  await Promise.all(servers.map(({ urlOf }) => using(urlOf('postgres'), (sql) => sql.unsafe(`SELECT '${mark}'`))))
  await expect.poll(() => cluster.logs().every((log) => log.includes(mark))).toBe(true)
}

/** The index of the worker that holds a grant, in the order of `cluster.workers`. */
async function workerOf(grantId: string): Promise<number> {
  const rows = await database.sql<{ port: number }[]>`
    SELECT nodeport AS port FROM pg_dist_node
    LEFT JOIN pg_dist_placement ON pg_dist_placement.groupid = pg_dist_node.groupid
      AND shardid = get_shard_id_for_distribution_column('grants', ${pack(grantId)}::bytea)
    WHERE pg_dist_node.groupid > 0 AND shardid IS NOT NULL`
  const index = cluster.workers.findIndex(({ port }) => port === rows[0]?.port)
  return index === -1 ? 2 : index
}

async function grantOn(worker: number, given: Partial<NewGrant> = {}): Promise<NewGrant> {
  for (;;) {
    const grant = await livingGrant(store, given)
    if ((await workerOf(grant.id)) === worker) return grant
  }
}

/** Resolves when reads and changes of grants reach the machine of the row without the coordinator. */
async function untilDirect(worker: number): Promise<NewGrant> {
  const grant = await grantOn(worker)
  const use = async () => {
    await store.grants.readGrant(grant.id)
    await store.grants.endGrant(grant.id, 'revoked', NOW, 'another client')
  }
  await expect.poll(async () => (await serversUsedBy(use))[0], { timeout: 20_000 }).toBe(false)
  return grant
}

const onlyWorker = (worker: number): boolean[] => [false, ...cluster.workers.map((_, index) => index === worker)]

test.for([0, 1, 2])(
  'Reads and changes of a grant, its approvals and its draws touch only the machine of the grant: worker %i',
  async (worker) => {
    await untilDirect(worker)
    const [grant, limited] = [await grantOn(worker), await grantOn(worker, { signedLimit: signedLimit() })]
    const approval = someApproval(grant)
    const signature = { receiptId: 'receipt', isLast: false, at: NOW }
    const use = { clientId: approval.clientId, attemptId: 'attempt', signedFor: 600, at: NOW }
    const request = drawOf(limited)
    const uses: Record<string, () => Promise<unknown>> = {
      draw: () => store.draws.draw(request),
      'repeated draw': () => store.draws.draw(request),
      'return of a draw': () => store.draws.giveBack(request, { amount: 100, at: NOW }),
      'list of draws': () => store.draws.listDraws(limited.id, { limit: 20 }),
      'count of approvals': () => store.approvals.readAskedBefore(grant.id, { since: NOW, at: NOW }),
      'question for an approval': () => store.approvals.ask(approval, NOW),
      'repeated question': () => store.approvals.ask(approval, NOW),
      'read of an approval': () => store.approvals.readApproval(approval),
      signature: () => store.approvals.answer(approval, signature),
      'repeated signature': () => store.approvals.answer(approval, signature),
      'use of an approval': () => store.approvals.useApproval(approval, use),
      'repeated use': () => store.approvals.useApproval(approval, use),
      introspection: () => store.grants.readGrantValidity(grant.id),
      read: () => store.grants.readGrant(grant.id),
      refresh: () => store.grants.rotateRefreshToken(rotationOf(grant, 0)),
      'repeated refresh': () => store.grants.rotateRefreshToken(rotationOf(grant, 0)),
      revocation: () => store.grants.endGrant(grant.id, 'revoked', NOW),
      'repeated revocation': () => store.grants.endGrant(grant.id, 'revoked', NOW),
    }
    for (const [name, use] of Object.entries(uses)) expect([name, await serversUsedBy(use)]).toEqual([name, onlyWorker(worker)])
  },
)

test('Introspections of several grants at the same time touch no coordinator, and each returns its own grant or null', async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const grants = await Promise.all(Array.from({ length: 24 }, () => livingGrant(store)))
  const ids = grants.flatMap(({ id }) => [id, randomUUID()])
  const used = await serversUsedBy(async () => {
    const found = await Promise.all(ids.map((id) => store.grants.readGrantValidity(id)))
    expect(found.map((each) => each?.clientId)).toEqual(grants.flatMap(({ clientId }) => [clientId, undefined]))
  })
  expect(used).toEqual([false, true, true, true])
})

test('Reads of grants, sessions and wallets at the same time are one transaction of each machine, and each returns its own row or null', async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const [grant, session] = [await grantOn(0), someSession()]
  await store.wallets.raiseEpoch(session.wallet)
  await store.sessions.startSession(session, 'login')
  await untilLogged()
  cluster.forgetLog()
  const found = await Promise.all([
    store.grants.readGrant(grant.id),
    store.grants.readGrantValidity(grant.id),
    store.sessions.readSession(session.hash),
    store.wallets.readEpoch(session.wallet),
    store.grants.readGrantValidity(randomUUID()),
    store.sessions.readSession(randomUUID()),
  ])
  const { id, clientId } = grant
  expect(found).toMatchObject([{ id, clientId }, { clientId, endedAt: null }, { hash: session.hash }, 1, null, null])
  await untilLogged()
  const checks = cluster.logs().map((log) => log.match(/a shard is on another machine/g)?.length ?? 0)
  expect(checks[1]).toBe(1)
  expect(Math.max(...checks)).toBe(1)
})

test('A code exchange, a session, a used proof and the revocation of a token need no coordinator and no two-phase commit', async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const session = someSession()
  const used = await serversUsedBy(async () => {
    await store.wallets.rememberProof(session.wallet)
    await store.sessions.startSession(session, 'login')
    expect(await store.sessions.readSession(session.hash)).toMatchObject({ endedAt: null })
    const grant = await livingGrant(store, { wallet: session.wallet, sessionHash: session.hash })
    await store.grants.revokeAccessToken({
      grantId: grant.id,
      clientId: grant.clientId,
      jti: randomUUID(),
      expiresAt: NOW + 600,
      at: NOW,
    })
    expect(await store.spent.spend({ kind: 'dpop', hash: randomUUID(), expiresAt: NOW, attemptId: 'a' } as never)).toBe('spent')
  })
  expect(used[0]).toBe(false)
  expect(cluster.log().match(/PREPARE TRANSACTION.*/g)).toBeNull()
})

/** The id of the shard of a grant. */
async function shardOf(grantId: string): Promise<string> {
  const [row] = await database.sql`SELECT get_shard_id_for_distribution_column('grants', ${pack(grantId)}::bytea)::text AS id`
  return String(row?.id)
}

test('While the transaction that moves a shard is prepared on its machine, the shard is read and changed over the coordinator, and directly again after a rollback', async () => {
  const grant = await untilDirect(0)
  const shard = await shardOf(grant.id)
  const read = () => serversUsedBy(() => store.grants.readGrantValidity(grant.id))
  await using((cluster.workers[0] as PostgresServer).urlOf(database.name), async (sql) => {
    await sql.unsafe(
      `BEGIN; UPDATE pg_dist_placement SET groupid = groupid + 1 WHERE shardid = ${shard}; PREPARE TRANSACTION 'a move'`,
    )
    try {
      expect((await read())[0]).toBe(true)
      const refresh = () => store.grants.rotateRefreshToken(rotationOf(grant, 0))
      expect((await serversUsedBy(async () => expect(await refresh()).toMatchObject({ kind: 'rotated' })))[0]).toBe(true)
    } finally {
      await sql.unsafe(`ROLLBACK PREPARED 'a move'`)
    }
  })
  expect(await read()).toEqual(onlyWorker(0))
})

test('After a shard has moved, a node that has not noticed it reads and changes the row on its new machine, and not the old copy', {
  timeout: 60_000,
}, async () => {
  const [ended, refreshed] = [await untilDirect(0), await grantOn(0)]
  while ((await shardOf(refreshed.id)) !== (await shardOf(ended.id))) Object.assign(refreshed, await grantOn(0))
  const [from, to] = cluster.workers.map(({ port }) => port)
  await database.sql.unsafe(
    `SELECT citus_move_shard_placement(${await shardOf(ended.id)}, '127.0.0.1', ${from}, '127.0.0.1', ${to}, 'block_writes')`,
  )
  await database.sql`UPDATE grants SET ended_at = ${NOW}, end_reason = 'revoked' WHERE id = ${pack(ended.id)}`
  expect(await store.grants.readGrantValidity(ended.id)).toMatchObject({ endedAt: NOW })
  expect(await store.grants.endGrant(ended.id, 'revoked', NOW)).toBe('ended_before')
  expect(await store.grants.rotateRefreshToken(rotationOf(refreshed, 0))).toMatchObject({ kind: 'rotated' })
  const [row] = await database.sql`SELECT generation FROM grants WHERE id = ${pack(refreshed.id)}`
  expect(row).toEqual({ generation: 1 })
  await expect
    .poll(() => serversUsedBy(() => store.grants.readGrantValidity(refreshed.id)), { timeout: 20_000 })
    .toEqual(onlyWorker(1))
})

test('The check of a batch reads the placements of its own shards only', async () => {
  const [first] = cluster.workers as [PostgresServer]
  await using(first.urlOf(database.name), async (sql) => {
    await sql.unsafe('ANALYZE pg_dist_placement; SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan')
    await sql.unsafe(`PREPARE check_shards AS ${CHECK.text}`)
    const plan = await sql.unsafe("EXPLAIN EXECUTE check_shards('{1,2}')")
    const conditions = plan.map((line) => String(line['QUERY PLAN'])).filter((line) => line.includes('Index Cond'))
    expect(conditions).toEqual([expect.stringContaining('(shardid = ANY ($1))')])
  })
})

/** The statement that moves the shard of a grant from the first worker to the second one. */
async function moveOf(grantId: string): Promise<string> {
  const [from, to] = cluster.workers.map(({ port }) => port)
  return `SELECT citus_move_shard_placement(${await shardOf(grantId)}, '127.0.0.1', ${from}, '127.0.0.1', ${to}, 'block_writes')`
}

/** The number of transactions on the first worker that wait for the metadata of a shard in a lock mode, or for the lock of a row. */
async function waitingFor(what: 'ShareLock' | 'ExclusiveLock' | 'a row'): Promise<number> {
  const waiting = what === 'a row' ? "locktype = 'transactionid'" : `locktype = 'advisory' AND mode = '${what}'`
  return using((cluster.workers[0] as PostgresServer).urlOf(database.name), async (sql) => {
    return (await sql.unsafe(`SELECT FROM pg_locks WHERE NOT granted AND ${waiting}`)).length
  })
}

const generationOf = async (grantId: string) =>
  (await database.sql`SELECT generation FROM grants WHERE id = ${pack(grantId)}`).map(({ generation }) => Number(generation))

test.for(['COMMIT', 'ROLLBACK'] as const)(
  'A change of a row whose shard moves waits for the end of the move, and then runs on the machine that holds the shard: %s',
  { timeout: 60_000 },
  async (end) => {
    const grant = await untilDirect(0)
    const other = await grantOn(0)
    while ((await shardOf(other.id)) === (await shardOf(grant.id))) Object.assign(other, await grantOn(0))
    await using(database.url, async (sql) => {
      await sql.unsafe('BEGIN')
      await sql.unsafe(await moveOf(grant.id))
      const refreshed = store.grants.rotateRefreshToken(rotationOf(grant, 0))
      // In the same turn, so in one batch with the first one.
      const otherRefreshed = store.grants.rotateRefreshToken(rotationOf(other, 0))
      expect(await otherRefreshed).toMatchObject({ kind: 'rotated' })
      await expect.poll(() => waitingFor('ShareLock')).toBe(1)
      await sql.unsafe(end)
      expect(await refreshed).toMatchObject({ kind: 'rotated' })
    })
    expect(await workerOf(grant.id)).toBe(end === 'COMMIT' ? 1 : 0)
    expect(await generationOf(grant.id)).toEqual([1])
    expect(await generationOf(other.id)).toEqual([1])
  },
)

test('A change that waited for the lock of a shard checks the machine of the shard after the wait', {
  timeout: 60_000,
}, async () => {
  const grant = await untilDirect(0)
  const shard = await shardOf(grant.id)
  const assign = (to: string) => `UPDATE pg_dist_placement SET groupid = groupid ${to} WHERE shardid = ${shard}`
  await using((cluster.workers[0] as PostgresServer).urlOf(database.name), async (sql) => {
    const exclusive = 7
    await sql.unsafe(`BEGIN; SELECT lock_shard_metadata(${exclusive}, ARRAY[${shard}])`)
    const used = await serversUsedBy(async () => {
      const refreshed = store.grants.rotateRefreshToken(rotationOf(grant, 0))
      await expect.poll(() => waitingFor('ShareLock')).toBe(1)
      await sql.unsafe(`${assign('+ 1')}; COMMIT`)
      expect(await refreshed).toMatchObject({ kind: 'rotated' })
    })
    await sql.unsafe(assign('- 1'))
    expect(used[0]).toBe(true)
  })
})

test('A move waits for a change that has begun, so the change is not lost', { timeout: 60_000 }, async () => {
  const grant = await untilDirect(0)
  const table = `grants_${await shardOf(grant.id)}`
  const settled = { move: false }
  await using((cluster.workers[0] as PostgresServer).urlOf(database.name), async (sql) => {
    await sql.unsafe(`BEGIN; SELECT FROM ${table} WHERE id = ${packedLiteral(grant.id)} FOR UPDATE`)
    const refreshed = store.grants.rotateRefreshToken(rotationOf(grant, 0))
    await expect.poll(() => waitingFor('a row')).toBe(1)
    const move = database.sql.unsafe(await moveOf(grant.id)).then(() => (settled.move = true))
    await expect.poll(async () => settled.move || (await waitingFor('ExclusiveLock')) === 1).toBe(true)
    await sql.unsafe('COMMIT')
    expect(await refreshed).toMatchObject({ kind: 'rotated' })
    await move
  })
  expect(await workerOf(grant.id)).toBe(1)
  expect(await generationOf(grant.id)).toEqual([1])
})

test('Refreshes at the same time are one transaction of each machine, without a two-phase commit, and a locked row delays none of the others', async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const workers = [...cluster.workers.keys()].flatMap((worker) => [worker, worker, worker, worker])
  const grants = await Promise.all(workers.map((worker) => grantOn(worker)))
  const refreshAll = (generation: number) =>
    Promise.all(grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, generation))))
  const used = await serversUsedBy(async () => {
    for (const { kind } of await refreshAll(0)) expect(kind).toBe('rotated')
  })
  expect(used).toEqual([false, true, true, true])
  expect(cluster.log().match(/PREPARE TRANSACTION.*/g)).toBeNull()
  const [locked, ...others] = grants as [NewGrant]
  const worker = cluster.workers[await workerOf(locked.id)] as PostgresServer
  await using(worker.urlOf(database.name), async (sql) => {
    await sql.unsafe(`BEGIN; SELECT FROM grants_${await shardOf(locked.id)} WHERE id = ${packedLiteral(locked.id)} FOR UPDATE`)
    const [first, ...rest] = grants.map((grant) => store.grants.rotateRefreshToken(rotationOf(grant, 1)))
    for (const { kind } of await Promise.all(rest)) expect(kind).toBe('rotated')
    await sql.unsafe('COMMIT')
    expect(await first).toMatchObject({ kind: 'rotated' })
  })
  for (const { id } of [locked, ...others]) expect(await generationOf(id)).toEqual([2])
})

test('A machine on which three refreshes exceed their time, because their rows are locked, is not away: a read and a refresh at once succeed', async () => {
  const [other, ...grants] = [await untilDirect(1), await grantOn(1), await grantOn(1), await grantOn(1)]
  const refresh = (grant: NewGrant) => store.grants.rotateRefreshToken(rotationOf(grant, 0))
  await using((cluster.workers[1] as PostgresServer).urlOf(database.name), async (sql) => {
    await sql.unsafe('SET citus.enable_manual_changes_to_shards = on; BEGIN')
    for (const { id } of grants)
      await sql.unsafe(`SELECT FROM grants_${await shardOf(id)} WHERE id = ${packedLiteral(id)} FOR UPDATE`)
    for (const { status } of await Promise.allSettled(grants.map(refresh))) expect(status).toBe('rejected')
    // While a machine is away, one statement at a time is sent there.
    expect(await Promise.all([store.grants.readGrant(other.id), refresh(other)])).toMatchObject([
      { id: other.id },
      { kind: 'rotated' },
    ])
    await sql.unsafe('ROLLBACK')
  })
})

test('Reads of a locked shard wait, and delay no reads of the other shards of the machine', async () => {
  const [grant, other] = [await untilDirect(1), await grantOn(1)]
  while ((await shardOf(other.id)) === (await shardOf(grant.id))) Object.assign(other, await grantOn(1))
  await using((cluster.workers[1] as PostgresServer).urlOf(database.name), async (sql) => {
    await sql.unsafe(`SET citus.enable_manual_changes_to_shards = on; BEGIN; LOCK TABLE grants_${await shardOf(grant.id)}`)
    const waiting: Promise<string>[] = []
    for (let count = 0; count < 8; count++) {
      const read = store.grants.readGrantValidity(grant.id)
      waiting.push(read.then((found) => `found ${found?.clientId}`, String))
      // More than a batch of reads waits.
      await pause(30)
    }
    const others = Promise.all(Array.from({ length: 20 }, () => store.grants.readGrantValidity(other.id)))
    expect(await Promise.race([others.then((found) => found.length), ...waiting])).toBe(20)
    await sql.unsafe('COMMIT')
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => `found ${grant.clientId}`))
  })
})

test('Each row that was inserted is in the shard of its key', async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const session = someSession()
  await store.wallets.rememberProof(session.wallet)
  await store.sessions.startSession(session, 'login')
  await livingGrant(store, { wallet: session.wallet, sessionHash: session.hash })
  await store.spent.spend({ kind: 'dpop', hash: randomUUID(), expiresAt: NOW, attemptId: 'a' } as never)
  for (const [table, column] of Object.entries(DISTRIBUTED)) {
    const astray = `SELECT count(*) FROM %1$s
      WHERE get_shard_id_for_distribution_column('${table}', ${column}) <> substring('%1$s' FROM '[0-9]+$')::bigint`
    const found = await database.sql`SELECT result FROM run_command_on_shards(${table}, ${astray})`
    expect([table, ...new Set(found.map(({ result }) => result))]).toEqual([table, '0'])
  }
})

test('A role that does not own the tables reads and changes rows on their machines', { timeout: 60_000 }, async () => {
  await database.sql.unsafe(`
    CREATE ROLE server LOGIN PASSWORD 'a-password-of-a-server';
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO server`)
  const address = { ...database.address, user: 'server', password: 'a-password-of-a-server' }
  const served = await openPostgresStore(address, { clock: 'given' })
  onTestFinished(() => served.close())
  const use = async () => {
    const grant = await grantOn(0)
    expect(await served.grants.rotateRefreshToken(rotationOf(grant, 0))).toMatchObject({ kind: 'rotated' })
    expect(await served.grants.readGrantValidity(grant.id)).toMatchObject({ endedAt: null })
  }
  await untilDirect(0)
  await expect.poll(() => serversUsedBy(use).then((used) => used[0]), { timeout: 20_000 }).toBe(false)
})

test('What was found in a row is not confirmed after the server of its machine was restarted (decision 0016)', {
  timeout: 60_000,
}, async () => {
  await untilDirect(1)
  const connection = new PostgresConnection(database.address, { clock: 'given', loadPlacement })
  onTestFinished(() => connection.close())
  const confirm = connection.prepareConfirmation('grants WHERE id = :id', { table: 'grants', key: 'id' })
  const { id } = await grantOn(1)
  const worker = cluster.workers[1] as PostgresServer
  const running = async () => {
    await confirm({ id })
    return JSON.parse(await connection.readInstance()).machines[`127.0.0.1:${worker.port}`]
  }
  await expect.poll(running, { timeout: 20_000 }).toBeTruthy()
  const found = await connection.readInstance()
  await confirm({ id }, found)
  await worker.stop('kill')
  await worker.start()
  await expect.poll(() => confirm({ id }).then(() => 'confirmed', String), { timeout: 20_000 }).toBe('confirmed')
  await expect(confirm({ id }, found)).rejects.toThrow(StoreUnavailable)
})

test('While the coordinator is away, grants are issued, refreshed, introspected and revoked', { timeout: 60_000 }, async () => {
  for (const worker of cluster.workers.keys()) await untilDirect(worker)
  const grants = await Promise.all(cluster.workers.map((_, worker) => grantOn(worker)))
  await cluster.coordinator.stop('kill')
  onTestFinished(() => cluster.coordinator.start())
  for (let generation = 0; generation < 20; generation++) {
    for (const grant of grants) {
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, generation))).toMatchObject({ kind: 'rotated' })
      expect(await store.grants.readGrantValidity(grant.id)).toMatchObject({ endedAt: null })
      await livingGrant(store)
    }
  }
  for (const { id } of grants) {
    expect(await store.grants.endGrant(id, 'revoked', NOW)).toBe('ended')
    expect(await store.grants.endGrant(id, 'revoked', NOW)).toBe('ended_before')
  }
})

test.for(['nowhere', 'another machine'] as const)(
  'If the address of a machine leads a node to %s, the node uses the ordinary connection until it reaches the machine',
  { timeout: 60_000 },
  async (elsewhere) => {
    leadsTo = elsewhere
    await untilDirect(0)
    const grant = await grantOn(2)
    const used = await serversUsedBy(async () => {
      expect(await store.grants.readGrantValidity(grant.id)).toMatchObject({ endedAt: null })
      expect(await store.grants.rotateRefreshToken(rotationOf(grant, 0))).toMatchObject({ kind: 'rotated' })
    })
    expect(used[0]).toBe(true)
    leadsTo = 'its machine'
    await untilDirect(2)
  },
)
