/** Backup and restore, as docs/operating/recover.md describes: a grant that ended after the backup stays ended after the restore. */

import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { endMatching } from '../../../src/domain/consent/end-matching.ts'
import { rotateKey } from '../../../src/domain/maintenance/keep-keys.ts'
import { sumOf } from '../../../src/domain/model/pages.ts'
import { livingGrant } from '../../store/contract/subject.ts'
import { type App, appOf, startApp } from '../../support/app.ts'
import { keepingOf } from '../../support/key-keeping.ts'
import { machineIn } from '../../support/operations-page.ts'
import { createPostgresDatabase } from '../../support/postgres.ts'
import { openPostgresStore } from '../../support/postgres-database.ts'
import { hangUp, send } from '../../support/send.ts'
import { startGrantor, TEST_SECRET } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const OWNER = testWallet(0)
const hasSqlite3 = spawnSync('sqlite3', ['--version']).status === 0

/** Starts a service on the database of this machine. */
async function startOn(machine: ReturnType<typeof machineIn>, clock?: App['grantor']['clock']): Promise<App> {
  const app = await startApp({ databasePath: machine.databasePath, ...(clock ? { clock } : {}) })
  onTestFinished(() => app.close())
  return app
}

const readiness = async (authUrl: string) => {
  const answer = await send(authUrl, { path: '/health/ready' })
  return [answer.status, answer.json().problem]
}

/** Takes a backup, then ends grants and rotates a key. Returns the credentials, none of which may work after a restore. */
async function backUpAndChange(app: App, machine: ReturnType<typeof machineIn>, backup: string) {
  const { grantor, walk, client } = app
  const disabled = await grantor.createClient({ name: 'Disabled since' })
  const [revoked, rotated, ofDisabled] = [await app.freshTokens(), await app.freshTokens(), await app.freshTokens({}, disabled)]
  const untouched = await app.freshTokens()
  const code = await app.freshCode()
  const unfinished = new Walk(grantor)
  const challenge = await unfinished.challenge(requestOf(client))
  const proof = await unfinished.prove(challenge)
  const done = machine.paste(backup)
  expect(done).toMatchObject({ exit: 0, err: expect.not.stringContaining('rror') })
  expect(statSync(machine.backupPath).mode & 0o777, 'readable by its owner only').toBe(0o600)

  await walk.revoke(client, revoked.refresh_token)
  const successor = (await walk.refresh(client, rotated.refresh_token)).json() as typeof rotated
  await grantor.store.clients.replaceClient({ ...disabled, disabledAt: grantor.clock.now() })
  await sumOf(endMatching(grantor.store, { clientId: disabled.id }, { reason: 'operator', now: grantor.clock.now }))
  await rotateKey(keepingOf(grantor), 'mac', 0)
  await grantor.noticeChanges()
  const later = await app.freshTokens()
  const grants = { revoked, rotated, successor, ofDisabled, untouched, later }
  return { grants, disabled, code, unfinished, proof }
}

test.each(['backup-node', ...(hasSqlite3 ? ['backup-sqlite3'] : [])])(
  'After a backup (%s) is restored, no earlier token, code, session or login works, and the service is ready only after a confirmation',
  async (backup) => {
    const machine = machineIn(newFolder())
    const before = await startOn(machine)
    const { clock, ports } = before.grantor
    const earlier = await backUpAndChange(before, machine, backup)
    hangUp()
    await before.close()
    writeFileSync(machine.secretPath, `${TEST_SECRET}\n`)
    const env = { GRANTOR_DATABASE_URL: `sqlite:${machine.databasePath}` }
    const restored = machine.paste('restore-sqlite', env)
    expect(restored).toMatchObject({ exit: 1, err: '' })
    expect(restored.out).toMatch(/Ended 4 grants and 1 session, withdrew \d receipts, replaced 6 keys\./)
    expect(restored.out).toMatch(new RegExp(`${earlier.disabled.id} +enabled .*Disabled since`))
    expect(restored.out).toContain('Not confirmed')

    const grantor = await startGrantor({ databasePath: machine.databasePath, clock, ports })
    onTestFinished(() => grantor.close())
    expect(await readiness(grantor.authUrl)).toEqual([503, 'restored_unconfirmed'])
    const walk = new Walk(grantor)
    for (const [name, value] of before.walk.cookies) walk.cookies.set(name, value)
    const app = appOf(grantor, before.client, walk)
    for (const [name, tokens] of Object.entries(earlier.grants)) {
      const owner = name === 'ofDisabled' ? earlier.disabled : before.client
      expect(await app.isActive(tokens.access_token, owner), `access token: ${name}`).toBe(false)
      const answer = await walk.refresh(owner, tokens.refresh_token)
      expect([answer.status, answer.json().error], `refresh token: ${name}`).toEqual([400, 'invalid_grant'])
    }
    expect((await walk.exchange(before.client, earlier.code)).json().error).toBe('invalid_grant')
    expect((await walk.authorize(requestOf(before.client))).location, 'the session').toContain('/login?login_challenge=')
    const login = new Walk(grantor)
    for (const [name, value] of earlier.unfinished.cookies) login.cookies.set(name, value)
    expect((await login.complete(earlier.proof)).status, 'an unfinished login').toBe(400)

    const confirmed = await run(
      ['migrate', '--restored', '--yes', '--json'],
      { ...env, GRANTOR_SECRET: TEST_SECRET },
      clock.now(),
    )
    expect(confirmed.exit).toBe(0)
    expect(JSON.parse(confirmed.out)).toMatchObject({ confirmed: true, ended: { grants: 0, sessions: 0, receipts: 0 } })
    await grantor.noticeChanges()
    clock.advance(1)
    expect(await readiness(grantor.authUrl)).toEqual([200, undefined])
    await walk.signIn(requestOf(before.client))
    expect(await app.isActive((await app.freshTokens()).access_token), 'a new login').toBe(true)
  },
)

test('If a backup is served without migrate --restored, a grant that was revoked after the backup is valid again', async () => {
  const machine = machineIn(newFolder())
  const before = await startOn(machine)
  const tokens = await before.freshTokens()
  machine.paste('backup-node')
  await before.walk.revoke(before.client, tokens.refresh_token)
  const { clock } = before.grantor
  hangUp()
  await before.close()
  const grantor = await startGrantor({ databasePath: machine.backupPath, clock, ports: before.grantor.ports })
  onTestFinished(() => grantor.close())
  expect((await new Walk(grantor).refresh(before.client, tokens.refresh_token)).status).toBe(200)
})

test('On PostgreSQL, migrate --restored ends every grant of a restored database, and --yes confirms the restoration', async () => {
  const database = await createPostgresDatabase()
  onTestFinished(() => database.drop())
  const env = { GRANTOR_DATABASE_URL: database.url, GRANTOR_SECRET: TEST_SECRET }
  await run(['migrate'], env)
  const store = await openPostgresStore(database.address)
  onTestFinished(() => store.close())
  const grant = await livingGrant(store)
  const restored = await run(['migrate', '--restored', '--json'], env)
  expect(restored.exit).toBe(1)
  expect(JSON.parse(restored.out)).toMatchObject({ confirmed: false, ended: { grants: 1, sessions: 0, receipts: 0 } })
  expect(await store.grants.readGrant(grant.id)).toMatchObject({ endReason: 'restored' })
  expect(await store.restorations.readRestoration()).toMatchObject({ confirmedAt: null })
  expect((await run(['migrate', '--restored', '--yes'], env)).exit).toBe(0)
  expect(await store.restorations.readRestoration()).toMatchObject({ confirmedAt: expect.any(Number) })
})

test('The command migrate --restored confirms a restored database only if the answer to its question is "yes"', async () => {
  const { main } = await import('../../../src/app/main.ts')
  const path = `${newFolder()}/grantor.sqlite`
  const env = { GRANTOR_DATABASE_URL: `sqlite:${path}`, GRANTOR_SECRET: TEST_SECRET }
  await run(['migrate'], env)
  const answering = async (answer: string) => {
    const questions: string[] = []
    const ask = async (question: string) => {
      questions.push(question)
      return answer
    }
    const exit = await main(['migrate', '--restored'], { env, print() {}, printError() {}, ask, now: () => 1_800_000_000 })
    return { exit, questions }
  }
  expect(await answering('')).toEqual({ exit: 1, questions: ['Serve this database? Type yes: '] })
  expect((await answering('no')).exit).toBe(1)
  expect((await answering('y')).exit).toBe(1)
  expect((await answering(' Yes ')).exit).toBe(0)
})

test('The command migrate --restored lists the operators and webhooks of the restored state, because the database does not show which were removed later', async () => {
  const { env: database } = await newDatabase()
  const env = { ...database, GRANTOR_SECRET: TEST_SECRET }
  await run(['operators', 'add', OWNER.address, '--role', 'owner'], env)
  await run(['webhooks', 'create', 'https://siem.example.com/hook', '--event', 'grant_ended'], env)
  const { out } = await run(['migrate', '--restored', '--yes'], env)
  expect(out).toMatch(new RegExp(`${OWNER.address} +owner`))
  expect(out).toMatch(/[0-9a-f-]{36} +grant_ended +https:\/\/siem\.example\.com\/hook/)
  const { operators, webhooks } = JSON.parse((await run(['migrate', '--restored', '--yes', '--json'], env)).out)
  expect([operators.length, webhooks.length]).toEqual([1, 1])
})

test('The command migrate --restored is refused without GRANTOR_SECRET, without a database or with wrong options, and creates no file', async () => {
  const path = `${newFolder()}/grantor.sqlite`
  const env = { GRANTOR_DATABASE_URL: `sqlite:${path}` }
  expect(await run(['migrate', '--restored'], env)).toMatchObject({ exit: 2, err: expect.stringContaining('GRANTOR_SECRET') })
  expect(await run(['migrate', '--restored'], { ...env, GRANTOR_SECRET: TEST_SECRET })).toMatchObject({
    exit: 1,
    err: expect.stringContaining('restore the backup there first'),
  })
  expect(existsSync(path)).toBe(false)
  expect(await run(['migrate', '--yes'], env)).toMatchObject({ exit: 2 })
  expect(await run(['migrate', '--status', '--restored'], env)).toMatchObject({ exit: 2 })
})
