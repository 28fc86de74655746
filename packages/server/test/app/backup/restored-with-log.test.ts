/** `grantor migrate --restored --log FILE`: what the log says ended is ended again, and everything else stays. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readLogFile } from '../../../src/app/commands/migrate-log.ts'
import { endEverything } from '../../../src/domain/consent/end-grants.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { type App, appOf, startApp } from '../../support/app.ts'
import { machineIn } from '../../support/operations-page.ts'
import { hangUp, send } from '../../support/send.ts'
import { startGrantor, TEST_SECRET } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { newFolder, run } from '../run.ts'

/** A service whose database can be put back to an earlier state, and the log of the service. */
async function startRestorable() {
  const folder = newFolder()
  const machine = { ...machineIn(folder), folder }
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const app = await startApp({ databasePath: machine.databasePath, logger })
  onTestFinished(() => app.close())
  const back = async (more: string[] = []) => {
    hangUp()
    await app.close()
    const env = { GRANTOR_DATABASE_URL: `sqlite:${machine.backupPath}`, GRANTOR_SECRET: TEST_SECRET }
    const file = join(newFolder(), 'service.log')
    writeFileSync(file, [...lines, ...more].join(''))
    mkdirSync(join(machine.folder, 'var/log/grantor'), { recursive: true })
    copyFileSync(file, join(machine.folder, 'var/log/grantor/service.log'))
    const paste = (mark: string) => machine.paste(mark, env)
    const compare = (...options: string[]) =>
      run(['migrate', '--restored', '--log', file, ...options], env, app.grantor.clock.now())
    const grantor = await startGrantor({
      databasePath: machine.backupPath,
      clock: app.grantor.clock,
      ports: app.grantor.ports,
    })
    onTestFinished(() => grantor.close())
    const after = new Walk(grantor)
    for (const [name, value] of app.walk.cookies) after.cookies.set(name, value)
    return { compare, paste, grantor, app: appOf(grantor, app.client, after) }
  }
  return { app, machine, lines, back }
}

const refreshes = async (app: App, token: string) => (await app.walk.refresh(app.client, token)).status
/** Whether the browser is signed in. */
const isSignedIn = async ({ walk, client }: App) => !(await walk.authorize(requestOf(client))).location.includes('/login?')

/** A second user. */
async function signIn(app: App, number: 1) {
  const walk = new Walk(app.grantor, testWallet(number))
  const { code } = await walk.signIn(requestOf(app.client))
  const tokens = (await walk.exchange(app.client, code)).json() as { refresh_token: string }
  return { walk, tokens }
}

test('A grant that was revoked after a backup is ended again from the log, and other users stay signed in', async () => {
  const { app, machine, back } = await startRestorable()
  const [revoked, kept] = [await app.freshTokens(), await app.freshTokens()]
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  await app.walk.revoke(app.client, revoked.refresh_token)

  const restored = await back()
  const checked = await restored.compare('--check', '--json')
  expect([checked.exit, JSON.parse(checked.out)]).toMatchObject([
    1,
    { complete: false, revived: { grants: 1, sessions: 0, receipts: 0, tokens: 0 }, acts: [] },
  ])
  expect(await restored.app.isActive(revoked.access_token), 'a check changes nothing').toBe(true)

  expect(restored.paste('compare-log')).toMatchObject({ exit: 1, out: expect.stringContaining('Active again: 1 grant') })
  const compared = restored.paste('end-again')
  expect(compared).toMatchObject({ exit: 0, err: '' })
  expect(compared.out).toContain('Ended again: 1 grant, 0 sessions, 0 receipts, 0 tokens.')
  expect(await refreshes(restored.app, revoked.refresh_token)).toBe(400)
  expect(await restored.app.isActive(revoked.access_token)).toBe(false)
  expect(await refreshes(restored.app, kept.refresh_token), 'the other grant').toBe(200)
  expect(await isSignedIn(restored.app), 'the session').toBe(true)
  expect((await send(restored.grantor.authUrl, { path: '/health/ready' })).status).toBe(200)
})

test('A database that has everything that the log has is complete, and nothing ends', async () => {
  const { app, machine, back } = await startRestorable()
  const [revoked, kept] = [await app.freshTokens(), await app.freshTokens()]
  await app.walk.revoke(app.client, revoked.refresh_token)
  await expect.poll(() => app.grantor.store.audit.searchLines({ event: 'grant_ended' }, { limit: 1 })).toHaveLength(1)
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  const restored = await back()
  const checked = await restored.compare('--check')
  expect(checked).toMatchObject({ exit: 0, err: '' })
  expect(checked.out).toContain('Nothing is missing that these servers acknowledged.')
  expect((await restored.compare()).exit).toBe(0)
  expect(await refreshes(restored.app, kept.refresh_token)).toBe(200)
})

type Ended = { by: string; end: (app: App) => Promise<unknown>; grantIsOver: boolean; sessionIsOver: boolean }

test.each<Ended>([
  {
    by: 'the end of an app',
    end: ({ walk, client }) => walk.postForm('/account/apps/end', { client_id: client.id }),
    grantIsOver: true,
    sessionIsOver: false,
  },
  {
    by: 'the end of everything',
    end: ({ walk, grantor }) => endEverything(grantor.deps, walk.wallet.address as Address),
    grantIsOver: true,
    sessionIsOver: true,
  },
  {
    by: 'a sign-out',
    end: ({ walk }) => walk.postForm('/account/sign-out', {}),
    grantIsOver: false,
    sessionIsOver: true,
  },
  {
    by: 'a later sign-in in the same browser',
    end: ({ walk, client }) => walk.signIn(requestOf(client, { prompt: 'login' })),
    grantIsOver: false,
    sessionIsOver: true,
  },
])(
  'What $by ended after a backup is ended again from the log, and another wallet keeps everything',
  async ({ end, grantIsOver, sessionIsOver }) => {
    const { app, machine, back } = await startRestorable()
    const tokens = await app.freshTokens()
    const other = await signIn(app, 1)
    const cookies = [...app.walk.cookies]
    expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
    await end(app)
    app.walk.cookies.clear()
    for (const [name, value] of cookies) app.walk.cookies.set(name, value)

    const restored = await back()
    expect(await isSignedIn(restored.app), 'before the comparison').toBe(true)
    expect(await restored.compare()).toMatchObject({ exit: 0, err: '' })
    expect(await isSignedIn(restored.app)).toBe(!sessionIsOver)
    expect(await refreshes(restored.app, tokens.refresh_token)).toBe(grantIsOver ? 400 : 200)
    expect(await refreshes(restored.app, other.tokens.refresh_token), 'the other wallet').toBe(200)
    expect((await restored.compare('--check', '--json')).out).toContain(
      '"revived":{"grants":0,"sessions":0,"receipts":0,"tokens":0}',
    )
  },
)

test('Scopes that a user declined after a backup end again from the log', async () => {
  const { app, machine, back } = await startRestorable()
  const client = await app.grantor.createClient({ scopes: ['enhancement', 'profile'], consent: 'signed' })
  const walk = new Walk(app.grantor, testWallet(2))
  const request = requestOf(client, { scope: 'enhancement profile' })
  const { code } = await walk.signIn(request)
  const tokens = (await walk.exchange(client, code)).json() as { refresh_token: string }
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  await new Walk(app.grantor, testWallet(2)).signIn(request, testWallet(2), 'enhancement')
  expect(app.grantor.events.map(({ event }) => event)).toContain('scopes_declined')
  const restored = await back()
  expect(await restored.compare()).toMatchObject({ exit: 0 })
  expect((await restored.app.walk.refresh(client, tokens.refresh_token)).status).toBe(400)
})

test('A token without a grant that was revoked after a backup is revoked again from the log', async () => {
  const { app, machine, back } = await startRestorable()
  const client = await app.grantor.createClient({
    grantTypes: ['client_credentials'],
    redirectUris: [],
    resources: ['https://api.example.com/'],
  })
  const { access_token: token } = (await app.walk.token(client, { grant_type: 'client_credentials' })).json() as {
    access_token: string
  }
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  await app.walk.revoke(client, token)
  const restored = await back()
  expect(await restored.app.isActive(token, client)).toBe(true)
  expect((await restored.compare()).out).toContain('1 token.')
  expect(await restored.app.isActive(token, client)).toBe(false)
})

test('Acts of operators that a backup lacks are listed, and the service is ready only after a confirmation', async () => {
  const { app, machine, lines, back } = await startRestorable()
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  await app.grantor.deps.audit({ event: 'client_disabled', client_id: app.client.id })
  expect(lines.join('')).toContain('client_disabled')
  const restored = await back()
  const compared = await restored.compare()
  expect(compared.exit).toBe(1)
  expect(compared.out).toContain('Repeat them')
  expect(compared.out).toContain(`"event":"client_disabled","client_id":"${app.client.id}"`)
  const ready = () => send(restored.grantor.authUrl, { path: '/health/ready' })
  expect((await ready()).status).toBe(503)
  expect((await restored.compare('--yes')).exit).toBe(0)
  app.grantor.clock.advance(1)
  expect((await ready()).status).toBe(200)
})

test('A line whose text has a line separator of Unicode is one line of the log', async () => {
  const file = join(newFolder(), 'service.log')
  const line = { time: '2026-11-26T18:59:26.123Z', log: 'audit', event: 'grant_ended', grant_id: 'g' }
  writeFileSync(file, `${JSON.stringify({ ...line, note: 'a\u2028b\u2029c' })}\r\n${JSON.stringify(line)}`)
  expect(await readLogFile(file)).toMatchObject({ lines: 2, unreadable: 0, effects: [{ grantId: 'g' }, { grantId: 'g' }] })
})

test('A log with a cut line is not complete, and the service is ready only after a confirmation', async () => {
  const { app, machine, back } = await startRestorable()
  await app.freshTokens()
  expect(machine.paste('backup-node')).toMatchObject({ exit: 0 })
  const cut = '{"level":"info","time":"2026-11-26T18:59:26.123Z","log":"audit","event":"gra'
  const restored = await back([cut])
  const checked = await restored.compare('--check', '--json')
  expect([checked.exit, JSON.parse(checked.out)]).toMatchObject([1, { unreadable: 1, first_unreadable: cut, complete: false }])
  const compared = await restored.compare()
  expect(compared.exit).toBe(1)
  expect(compared.out).toContain(`1 line of the audit log cannot be read, and may be an ending. The first one:\n${cut}\n`)
  expect((await send(restored.grantor.authUrl, { path: '/health/ready' })).status).toBe(503)
  expect((await restored.compare('--yes')).exit).toBe(0)
})

test('A log without a line of the audit log is refused, and so are options that do not go together', async () => {
  const { back } = await startRestorable()
  const restored = await back()
  const file = join(newFolder(), 'other.log')
  writeFileSync(file, 'some text\n{"log":"audit"\n{"log":"audit","event":"no_event","time":"2026-01-01T00:00:00Z"}\n')
  const env = { GRANTOR_DATABASE_URL: `sqlite:${restored.grantor.databasePath}`, GRANTOR_SECRET: TEST_SECRET }
  expect(await run(['migrate', '--restored', '--log', file], env)).toMatchObject({
    exit: 1,
    err: expect.stringContaining('the log has no line of the audit log'),
  })
  expect((await run(['migrate', '--restored', '--log', join(newFolder(), 'none')], env)).err).toContain('cannot be read')
  for (const options of [
    ['--log', file],
    ['--restored', '--check'],
    ['--restored', '--log', file, '--check', '--yes'],
  ])
    expect((await run(['migrate', ...options], env)).exit).toBe(2)
})
