/**
 * One address that leads to another server after a promotion, such as a virtual IP address: new connections reach the new primary, while older
 * ones still reach the old primary, which runs on.
 */

import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { pack } from '../../../src/store/packed.ts'
import { migratePostgres, storeOn } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { addressOf } from '../../support/postgres.ts'
import { administrator, type PostgresServer } from '../../support/postgres-server.ts'
import { promote, startPair, stopFollowing, stopWaiting } from '../../support/postgres-standby.ts'
import { livingGrant, NOW } from '../contract/subject.ts'
import { startVirtualAddress, type VirtualAddress } from './virtual-address.ts'

let primary: PostgresServer
let standby: PostgresServer
let virtual: VirtualAddress
beforeEach(async () => {
  const pair = await startPair()
  ;({ primary, standby } = pair)
  await migratePostgres(addressOf(primary.urlOf('postgres')), NOW)
  virtual = await startVirtualAddress(primary.port)
}, 120_000)

/** A node at the virtual address, with at most two connections for changes. */
function openNode() {
  const url = primary.urlOf('postgres').replace(`:${primary.port}/`, `:${virtual.port}/`)
  const connection = new PostgresConnection(addressOf(`${url}?pool_size=4`), { clock: 'given' })
  onTestFinished(() => connection.close())
  const wait = connection.prepare<{ instance: string }>(
    'move',
    'SELECT pg_postmaster_start_time()::text AS instance FROM (SELECT pg_advisory_xact_lock(:lock::bigint)) AS locked',
  )
  /** The server that a change reaches. The change waits until the lock is free there. */
  const instanceOfChange = async (lock: number) => (await wait({ lock }))[0]?.instance
  return { store: storeOn(connection), instanceOfChange }
}

/**
 * While the open connection waits for a lock on the old primary, a change opens a new connection, which leads to the new primary. Returns the server
 * that each of the two statements reached.
 */
async function openSecondConnection({ instanceOfChange }: Pick<ReturnType<typeof openNode>, 'instanceOfChange'>) {
  const admin = await administrator(primary)
  await admin`SELECT pg_advisory_lock(2)`
  const slow = outcomeOf(() => instanceOfChange(2))
  const waiting = () => admin`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`
  await expect.poll(async () => (await waiting()).length, { interval: 5 }).toBe(1)
  const second = await instanceOfChange(1)
  await admin`SELECT pg_advisory_unlock(2)`
  return { first: await slow, second }
}

/** Ends a grant on the old primary alone, and promotes the standby. From then on, new connections reach the new primary. */
async function endOnOldPrimaryAlone(store: Store): Promise<string> {
  const { id } = await livingGrant(store)
  await stopWaiting(primary)
  await stopFollowing(primary, standby)
  expect(await store.grants.endGrant(id, 'revoked', NOW)).toBe('ended')
  await promote(standby)
  virtual.leadTo(standby.port)
  return id
}

const outcomeOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().catch((error: unknown) => (error instanceof StoreUnavailable ? 'unavailable' : error))

async function endedAt(server: PostgresServer, grantId: string): Promise<unknown> {
  const admin = await administrator(server)
  const [row] = await admin`SELECT ended_at::integer AS at FROM grants WHERE id = ${pack(grantId)}`
  return row?.at
}

test('Once a new connection has reached the new primary, a repeated ending that only the old primary has is made on the new primary', {
  timeout: 120_000,
}, async () => {
  const node = openNode()
  const id = await endOnOldPrimaryAlone(node.store)
  await openSecondConnection(node)
  expect(await outcomeOf(() => node.store.grants.endGrant(id, 'revoked', NOW))).toBe('ended')
  expect(await endedAt(standby, id)).toBe(NOW)
})

test('What was found on the old primary is not confirmed after a new connection has reached the new primary', {
  timeout: 120_000,
}, async () => {
  const node = openNode()
  await endOnOldPrimaryAlone(node.store)
  const confirm = await node.store.startReading()
  await openSecondConnection(node)
  expect(await outcomeOf(confirm)).toBe('unavailable')
})

test('A statement that runs on the old primary while a new connection reaches the new primary is repeated there', {
  timeout: 120_000,
}, async () => {
  const node = openNode()
  const old = await node.instanceOfChange(1)
  await endOnOldPrimaryAlone(node.store)
  const { first, second } = await openSecondConnection(node)
  expect(second).not.toBe(old)
  expect(first).toBe(second)
})
