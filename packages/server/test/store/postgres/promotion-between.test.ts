/**
 * A promotion between two statements of one operation. The new primary may lack a commit that the old one showed: an administrator ended the
 * connection that waited for the standby, or the old primary ran for a while without a standby.
 */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { endMatching } from '../../../src/domain/consent/end-matching.ts'
import { sumOf } from '../../../src/domain/model/pages.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { createDrawStore } from '../../../src/store/postgres/draws.ts'
import { createGrantStore } from '../../../src/store/postgres/grants.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import type { Ask, Batched } from '../../../src/store/postgres/statements/statement.ts'
import { freePorts } from '../../support/free-ports.ts'
import { addressOf } from '../../support/postgres.ts'
import { administrator, type PostgresServer, serverIn, startPostgres } from '../../support/postgres-server.ts'
import { FOLLOWED, follow, promote } from '../../support/postgres-standby.ts'
import { drawOf, limitedGrant } from '../contract/draws.ts'
import { livingGrant, NOW, newGrant } from '../contract/subject.ts'
import { Apart } from './apart.ts'

let primary: PostgresServer
let standby: PostgresServer
/** The address of both servers. A node uses the one that takes writes. */
let pair: string
beforeEach(async () => {
  primary = await startPostgres(FOLLOWED)
  const [port = 0] = await freePorts(1)
  standby = serverIn(primary.machine, join(primary.machine.home, 'standby'), port)
  onTestFinished(async () => {
    await standby.stop('immediate')
    await primary.remove()
  })
  await migratePostgres(addressOf(primary.urlOf('postgres')), NOW)
  await follow(primary, standby)
  const both = `127.0.0.1:${primary.port},127.0.0.1:${port}/`
  pair = `${primary.urlOf('postgres').replace(`127.0.0.1:${primary.port}/`, both)}?target_session_attrs=read-write`
}, 120_000)

async function open(url: string): Promise<Store> {
  const store = await openPostgresStore(addressOf(url), { clock: 'given' })
  onTestFinished(() => store.close())
  return store
}

async function setOnPrimary(name: string, value: string): Promise<void> {
  const admin = await administrator(primary)
  await admin.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`)
  await admin`SELECT pg_reload_conf()`
}

test('An ending that found nothing left is not acknowledged if a standby was promoted since: the standby may have active rows', {
  timeout: 120_000,
}, async () => {
  const store = await open(pair)
  const grant = await livingGrant(store)
  // The primary ends the grant without its standby.
  await standby.stop('immediate')
  await setOnPrimary('synchronous_standby_names', '')
  await expect.poll(() => store.grants.endGrant(grant.id, 'revoked', NOW).catch(() => null)).not.toBeNull()

  const { listGrants } = store.grants
  let pages = 0
  const listing: Store['grants']['listGrants'] = async (filter) => {
    const page = await listGrants(filter)
    pages++
    if (pages === 2) await takeOver(store)
    return page
  }
  const end = (store: Store) => sumOf(endMatching(store, { clientId: grant.clientId }, { reason: 'operator', now: () => NOW }))
  await expect(end({ ...store, grants: { ...store.grants, listGrants: listing } })).rejects.toThrow(StoreUnavailable)
  expect(pages).toBe(2)
  expect(await end(store)).toBe(1)
})

/** Stops the standby. From then on the primary commits alone. */
async function leavePrimaryAlone(store: Store): Promise<void> {
  await standby.stop('immediate')
  await setOnPrimary('synchronous_standby_names', '')
  await expect
    .poll(() =>
      store.checkWritable().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
}

/** The grants of a connection that performs each action once, before the first statement that matches the pattern of the action. */
function grantsWith(...given: Parameters<typeof connectionWith>): Store['grants'] {
  return createGrantStore(connectionWith(...given))
}

function connectionWith(
  actions: readonly (readonly [RegExp, () => Promise<void>])[],
  Connection: typeof PostgresConnection = PostgresConnection,
): PostgresConnection {
  const connection = new Connection(addressOf(pair, 'statement_timeout=2000'), { clock: 'given' })
  onTestFinished(() => connection.close())
  const left = new Set(actions)
  const actingBefore = <Row>(sql: string, ask: Ask<Row>): Ask<Row> => {
    const action = actions.find(([pattern]) => pattern.test(sql))
    if (!action) return ask
    return async (...named) => {
      if (left.delete(action)) await action[1]()
      return ask(...named)
    }
  }
  const [prepare, prepareBatched] = [connection.prepare.bind(connection), connection.prepareBatched.bind(connection)]
  connection.prepare = <Row>(...statement: Parameters<typeof prepare>) => actingBefore(statement[1], prepare<Row>(...statement))
  connection.prepareBatched = <Row>(batched: Batched) => actingBefore(batched.one, prepareBatched<Row>(batched))
  return connection
}

test('An ending that one statement found is not acknowledged if the next statement finds the grant active on a promoted standby', {
  timeout: 120_000,
}, async () => {
  const store = await open(pair)
  const grant = await livingGrant(store)
  await leavePrimaryAlone(store)
  await store.grants.endGrant(grant.id, 'revoked', NOW)
  const grants = grantsWith([[/^SELECT client_id, ended_at FROM grants/, () => takeOver(store)]])
  expect(await grants.endGrant(grant.id, 'revoked', NOW)).toBe('ended')
  expect((await store.grants.readGrantValidity(grant.id))?.endedAt).toBe(NOW)
})

test('A code whose claim was lost by a promotion is not a used code: the request gets 503, and a repeated request redeems the code', {
  timeout: 120_000,
}, async () => {
  const store = await open(pair)
  const grant = newGrant()
  // Both servers have the reserved row. The primary alone has the claim of another attempt.
  const claimByAnother = async () => {
    await leavePrimaryAlone(store)
    expect((await store.grants.redeemCode(grant, 'another', NOW)).kind).toBe('redeemed')
  }
  const grants = grantsWith(
    [
      [/ FROM wallets WHERE address = :wallet::packed$/, claimByAnother],
      [/generation.* FROM grants WHERE id = :id::packed$/, () => takeOver(store)],
    ],
    Apart,
  )
  await expect(grants.redeemCode(grant, 'attempt', NOW)).rejects.toThrow(StoreUnavailable)
  const redeemAgain = () => grants.redeemCode(grant, 'repeated', NOW).catch(() => ({ kind: null }))
  await expect.poll(async () => (await redeemAgain()).kind).toBe('redeemed')
})

test('A draw is not refused because of itself: the standby that took over lacks the draw, and also its count', {
  timeout: 120_000,
}, async () => {
  const store = await open(pair)
  const request = drawOf(await limitedGrant(store, { uses: 1 }))
  await leavePrimaryAlone(store)
  expect((await store.draws.draw(request)).kind).toBe('drawn')
  // The last read before the decision
  const draws = createDrawStore(connectionWith([[/^\s*SELECT.* draws\.number.* draws /s, () => takeOver(store)]]))
  expect(await draws.draw(request)).toMatchObject({ kind: 'drawn', isAgain: false })
})

/** The standby takes over, without what the primary committed alone. Resolves when the store uses the standby. */
async function takeOver(store: Store): Promise<void> {
  await primary.stop('kill')
  await standby.start()
  await promote(standby)
  await expect.poll(() => store.readRevision().catch(() => null)).not.toBeNull()
}

test('What a server returns after another server took over is read again on the other server', { timeout: 120_000 }, async () => {
  const connection = new PostgresConnection(addressOf(pair, 'statement_timeout=2000'), { clock: 'given' })
  onTestFinished(() => connection.close())
  const read = connection.prepare<{ instance: string }>(
    'read',
    'SELECT pg_postmaster_start_time()::text AS instance FROM (SELECT pg_advisory_lock_shared(:lock::bigint)) AS locked',
  )
  const readInstance = async (lock: number) => (await read({ lock }))[0]?.instance
  const write = connection.prepare('move', 'UPDATE revision SET number = number + 1 WHERE id = 1')
  // Opens the connections that the statements below need: a server that became read-only gets no new ones.
  const [onPrimary] = await Promise.all([readInstance(1), readInstance(1), write(), write()])
  await promote(standby)
  await setOnPrimary('default_transaction_read_only', 'on')
  const admin = await administrator(primary)
  await admin`SELECT pg_advisory_lock(2)`
  // In its first second, a connection to a server that became read-only is not given up.
  await pause(1100)

  // The first read waits on the primary until a write has found the other server. On a busy machine, PostgreSQL may cancel the read before.
  const slow = readInstance(2).catch((error: unknown) => error)
  const afterWrite = async () => {
    await write().catch(() => null)
    return readInstance(1)
  }
  await expect.poll(afterWrite).not.toBe(onPrimary)
  await admin`SELECT pg_advisory_unlock(2)`
  expect(await slow).not.toBe(onPrimary)
})
