/** An asynchronous standby that is promoted, with and without a loss: docs/operating/recover.md. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/observability/log/logger.ts'
import { startApp } from '../../support/app.ts'
import { addressOf } from '../../support/postgres.ts'
import { catchUp, promote, startPair, stopFollowing, stopWaiting } from '../../support/postgres-standby.ts'
import { TEST_SECRET } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { newFolder, run } from '../run.ts'

/** A primary, and a standby for which no commit waits. */
async function startAsynchronousPair() {
  const pair = await startPair()
  await stopWaiting(pair.primary)
  return pair
}

async function startService(url: string) {
  // The service had started before the first line that a test needs.
  const began = new Date(Date.now() - 3_600_000).toISOString()
  const lines = [`{"level":"info","time":"${began}","log":"audit","event":"refused","msg":"audit"}\n`]
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const app = await startApp({ postgres: addressOf(url), logger })
  onTestFinished(() => app.close())
  const compare = (log: readonly string[], ...options: string[]) => {
    const file = join(newFolder(), 'service.log')
    writeFileSync(file, log.join(''))
    const env = { GRANTOR_DATABASE_URL: url, GRANTOR_SECRET: TEST_SECRET }
    return run(['migrate', '--restored', '--log', file, ...options], env, Math.floor(Date.now() / 1000))
  }
  return { app, lines, compare }
}

const isWritable = (app: Awaited<ReturnType<typeof startService>>['app']) =>
  app.grantor.store.checkWritable().then(
    () => true,
    () => false,
  )

test('After an asynchronous standby that had everything is promoted, the log shows that nothing is missing, and no user signs in again', {
  timeout: 120_000,
}, async () => {
  const { primary, standby, url } = await startAsynchronousPair()
  const { app, lines, compare } = await startService(url)
  const [revoked, kept] = [await app.freshTokens(), await app.freshTokens()]
  await app.walk.revoke(app.client, revoked.refresh_token)
  const stored = () => app.grantor.store.audit.searchLines({ event: 'grant_ended' }, { limit: 1 })
  await expect.poll(stored).toHaveLength(1)
  await catchUp(primary)
  await primary.stop('kill')
  await promote(standby)
  await expect.poll(() => isWritable(app)).toBe(true)
  const checked = await compare(lines, '--check')
  expect(checked).toMatchObject({ exit: 0, err: '' })
  expect(checked.out).toContain('Nothing is missing that these servers acknowledged.')
  expect(await compare(lines)).toMatchObject({ exit: 0, err: '' })
  expect((await app.walk.refresh(app.client, kept.refresh_token)).status).toBe(200)
  expect((await app.walk.authorize(requestOf(app.client))).location, 'the session').toContain('code=')
  await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
  expect(app.grantor.events.filter(({ alarm }) => alarm)).toEqual([])
})

test('After an asynchronous standby is promoted that lacks changes, the service raises an alarm, and from the log only what ended is ended again', {
  timeout: 120_000,
}, async () => {
  const { primary, standby, url } = await startAsynchronousPair()
  const { app, lines, compare } = await startService(url)
  const [revoked, kept, refreshed] = [await app.freshTokens(), await app.freshTokens(), await app.freshTokens()]
  const other = new Walk(app.grantor, testWallet(1))
  const { code } = await other.signIn(requestOf(app.client))
  const { refresh_token: othersToken } = (await other.exchange(app.client, code)).json() as { refresh_token: string }
  await stopFollowing(primary, standby)
  expect((await app.walk.revoke(app.client, revoked.refresh_token)).status).toBe(200)
  const { refresh_token: successor } = (await app.walk.refresh(app.client, refreshed.refresh_token)).json() as {
    refresh_token: string
  }
  await other.postForm('/account/sign-out', {})
  await primary.stop('kill')
  await promote(standby)
  await expect.poll(() => isWritable(app)).toBe(true)
  const isActive = () => app.isActive(revoked.access_token)
  // The promoted standby lacks the ending.
  await expect.poll(isActive).toBe(true)

  // The next line of the trail shows that lines before it are lost.
  await new Walk(app.grantor, testWallet(2)).signIn(requestOf(app.client))
  const lost = () => app.grantor.events.filter(({ event }) => event === 'store_lost_a_write')
  await expect.poll(lost).toMatchObject([{ alarm: true }])
  // A refresh token that is newer than its row ends the grant.
  expect((await app.walk.refresh(app.client, successor)).json().error).toBe('invalid_grant')

  const late = await compare(lines.slice(1))
  expect(late).toMatchObject({ exit: 1, err: expect.stringContaining('Use a log that begins before') })
  const checked = await compare(lines, '--check', '--json')
  expect([checked.exit, JSON.parse(checked.out)]).toMatchObject([
    1,
    { complete: false, revived: { grants: 1, sessions: 1 }, acts: [] },
  ])
  expect(await isActive(), 'a check changes nothing').toBe(true)
  expect(await compare(lines)).toMatchObject({ exit: 0, err: '' })
  expect(await isActive()).toBe(false)
  expect((await app.walk.refresh(app.client, revoked.refresh_token)).status).toBe(400)
  expect((await other.authorize(requestOf(app.client))).location, 'the session that ended').toContain('/login?')
  expect((await other.refresh(app.client, othersToken)).status, 'the grant of that wallet').toBe(200)
  expect((await app.walk.refresh(app.client, kept.refresh_token)).status, 'another grant').toBe(200)
  expect((await app.walk.authorize(requestOf(app.client))).location, 'another session').toContain('code=')
})
