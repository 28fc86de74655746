/** A primary whose synchronous standby is away, over HTTP: what is acknowledged meanwhile is there after a failover. */
import { expect, onTestFinished, test } from 'vitest'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { startApp } from '../../support/app.ts'
import { addressOf } from '../../support/postgres.ts'
import { administrator } from '../../support/postgres-server.ts'
import { promote, startPair } from '../../support/postgres-standby.ts'
import { livingGrant, NOW } from '../contract/subject.ts'

test('A revocation and a refresh that only the primary has are not acknowledged when they are repeated, also after it restarted without its standby', {
  timeout: 120_000,
}, async () => {
  const { primary, standby, url } = await startPair()
  const app = await startApp({ postgres: addressOf(url) })
  onTestFinished(() => app.close())
  const { client, walk } = app
  const [revoked, refreshed] = [await app.freshTokens(), await app.freshTokens()]
  const revoke = async () => (await walk.revoke(client, revoked.refresh_token)).status
  const refresh = () => walk.refresh(client, refreshed.refresh_token)

  await standby.stop('kill')
  expect(await Promise.all([revoke(), refresh().then(({ status }) => status)])).toEqual([503, 503])
  await primary.stop('immediate')
  await primary.start()
  await expect.poll(() => app.isActive(revoked.access_token)).toBe(false)
  for (let repeat = 0; repeat < 3; repeat++)
    expect(await Promise.all([revoke(), refresh().then(({ status }) => status)])).toEqual([503, 503])

  await standby.start()
  await expect.poll(revoke).toBe(200)
  await expect.poll(async () => (await refresh()).status).toBe(200)
  const { refresh_token: successor = '' } = (await refresh()).json() as { refresh_token?: string }
  await primary.stop('kill')
  await promote(standby)
  await expect.poll(async () => (await walk.refresh(client, successor)).status).toBe(200)
  expect(await app.isActive(revoked.access_token), 'the failover revived no grant').toBe(false)
})

test('Repeated endings of one grant share their commits, and make none if the server has no synchronous standby', {
  timeout: 120_000,
}, async () => {
  const { primary, url } = await startPair()
  await migratePostgres(addressOf(url), NOW)
  const store = await openPostgresStore(addressOf(url), { clock: 'given' })
  onTestFinished(() => store.close())
  const { id } = await livingGrant(store)
  await store.grants.endGrant(id, 'revoked', NOW)
  const admin = await administrator(primary)
  await admin`CREATE EXTENSION pg_walinspect`
  /** The number of commits that 500 endings made only to wait for the standby, and how many there may be: timers may fire early. */
  const endAgain = async () => {
    const began = performance.now()
    const [from] = await admin`SELECT pg_current_wal_flush_lsn()::text AS lsn`
    for (let turn = 0; turn < 10; turn++) {
      const repeats = Array.from({ length: 50 }, () => store.grants.endGrant(id, 'revoked', NOW))
      expect(new Set(await Promise.all(repeats))).toEqual(new Set(['ended_before']))
    }
    // A record that ends the part of the log that is read, which may have no other.
    await admin`SELECT pg_create_restore_point('the end')`
    await admin`SELECT pg_switch_wal()`
    const [row] = await admin`
      SELECT count(*)::integer AS commits FROM pg_get_wal_records_info(${from?.lsn ?? ''}::pg_lsn, pg_current_wal_flush_lsn())
      WHERE resource_manager = 'LogicalMessage'`
    return { commits: Number(row?.commits), atMost: Math.ceil((performance.now() - began) / 10) + 1 }
  }
  const { commits, atMost } = await endAgain()
  expect(commits).toBeGreaterThan(0)
  expect(commits).toBeLessThanOrEqual(atMost)
  await admin`ALTER SYSTEM SET synchronous_standby_names = ''`
  await admin`SELECT pg_reload_conf()`
  await expect.poll(async () => (await endAgain()).commits).toBe(0)
})
