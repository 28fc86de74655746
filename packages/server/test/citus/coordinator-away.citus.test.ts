/** The coordinator of the cluster is away: what needs only the rows of grants goes on, at every node that has started before. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { NOW } from '../store/contract/subject.ts'
import { type App, startApp } from '../support/app.ts'
import { addressOf, type PostgresDatabase } from '../support/postgres.ts'
import { migratePostgres } from '../support/postgres-database.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { send } from '../support/send.ts'
import { endEverything, outcomeOf } from '../support/signed-app.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { type Cluster, startCluster, using } from './cluster.ts'
import { killCoordinator, untilDirect } from './coordinator-killed.ts'

let cluster: Cluster
let database: PostgresDatabase
let app: App
beforeAll(async () => {
  cluster = await startCluster(2)
  database = await cluster.newDatabase()
  await migratePostgres(database.address, NOW)
  app = await startApp({ postgres: addressOf(database.url) })
})
afterAll(async () => {
  await app.close()
  await cluster.close()
})

/** The readiness now: a result is cached for a second of the clock. */
const ready = () => {
  app.grantor.clock.advance(1)
  return send(app.grantor.authUrl, { path: '/health/ready' })
}

test('While the coordinator is killed, tokens are exchanged, refreshed, introspected and revoked', {
  timeout: 120_000,
}, async () => {
  await app.freshTokens()
  await untilDirect(app)
  const [code, ...grants] = [await app.freshCode(), await app.freshTokens(), await app.freshTokens(), await app.freshTokens()]
  expect(await app.isActive(grants[0]?.access_token ?? '')).toBe(true)
  const restart = await killCoordinator(cluster)
  expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  for (let count = 0; count < 10; count++)
    for (const [index, grant] of grants.entries()) {
      const refreshed = await app.walk.refresh(app.client, grant.refresh_token)
      expect(refreshed.status).toBe(200)
      grants[index] = refreshed.json() as typeof grant
      expect(await app.isActive(refreshed.json().access_token as string)).toBe(true)
    }
  for (const grant of grants) {
    expect((await app.walk.revoke(app.client, grant.refresh_token)).status).toBe(200)
    expect(await app.isActive(grant.access_token)).toBe(false)
    expect((await app.walk.refresh(app.client, grant.refresh_token)).status).toBe(400)
  }
  const response = await ready()
  const works = ['sign_ins', 'tokens', 'endings']
  expect([response.status, response.json()]).toEqual([200, { status: 'limited', problem: 'coordinator_unavailable', works }])
  await restart()
  await expect.poll(async () => (await ready()).json(), { timeout: 20_000 }).toEqual({ status: 'ready' })
  expect((await app.walk.refresh(app.client, (await app.freshTokens()).refresh_token)).status).toBe(200)
})

test('While the coordinator is killed, the account page lists apps and sessions, and an ending of everything is complete when it is acknowledged', {
  timeout: 120_000,
}, async () => {
  await untilDirect(app)
  const grants = [await app.freshTokens(), await app.freshTokens()]
  const restart = await killCoordinator(cluster)
  const page = await app.walk.browse({ path: '/account' })
  expect([page.status, page.body.includes(app.client.id)]).toEqual([200, true])
  expect((await endEverything(app.walk)).status).toBe(200)
  for (const grant of grants) expect(await app.isActive(grant.access_token)).toBe(false)
  expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
  await restart()
  await expect.poll(async () => (await ready()).json(), { timeout: 20_000 }).toEqual({ status: 'ready' })
  await app.walk.signIn(requestOf(app.client))
})

test('While the coordinator is killed, reads of locked shards wait, one by one and as lists', { timeout: 120_000 }, async () => {
  await untilDirect(app)
  const { access_token } = await app.freshTokens()
  const restart = await killCoordinator(cluster)
  const reads: Promise<unknown>[] = []
  await using((cluster.workers[0] as PostgresServer).urlOf(database.name), (one) =>
    using((cluster.workers[1] as PostgresServer).urlOf(database.name), async (other) => {
      for (const sql of [one, other]) {
        const [here] = await sql`
          SELECT string_agg('grants_' || shardid, ', ') AS shards FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
          JOIN pg_dist_local_group USING (groupid) WHERE logicalrelid = 'grants'::regclass`
        await sql.unsafe(`SET citus.enable_manual_changes_to_shards = on; BEGIN; LOCK TABLE ${here?.shards}`)
      }
      reads.push(
        app.isActive(access_token),
        app.walk.browse({ path: '/account' }).then(({ body }) => body.includes(app.client.id)),
      )
      // Longer than the timeout of reads straight to a machine.
      await pause(300)
      await Promise.all([one, other].map((sql) => sql.unsafe('COMMIT')))
    }),
  )
  expect(await Promise.all(reads)).toEqual([true, true])
  await restart()
})

test('A node is not ready while the coordinator and a worker are away, and an authorization request without a session gets 503', {
  timeout: 60_000,
}, async () => {
  await untilDirect(app)
  const machines = [cluster.coordinator, cluster.workers[0] as PostgresServer]
  await Promise.all(machines.map((machine) => machine.stop('kill')))
  onTestFinished(async () => void (await Promise.all(machines.map((machine) => machine.start()))))
  const statuses = await Promise.all(
    Array.from({ length: 4 }, async () => (await new Walk(app.grantor).authorize(requestOf(app.client))).status),
  )
  expect(statuses).toEqual([503, 503, 503, 503])
  await expect.poll(async () => (await ready()).status, { timeout: 20_000 }).toBe(503)
  expect((await ready()).json()).toEqual({ status: 'unavailable', problem: 'store_not_writable' })
})
