/** Changes GRANTOR_SECRET and GRANTOR_LOGIN_SECRET while servers run, as docs/operating/keys.md describes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { appOf, startApp, tokensOf } from '../../support/app.ts'
import { freePorts } from '../../support/free-ports.ts'
import { machineIn } from '../../support/operations-page.ts'
import { hangUp, send } from '../../support/send.ts'
import { startGrantor, TEST_SECRET } from '../../support/start.ts'
import { basic, Walk } from '../../support/walk.ts'
import { launchForTest, newFolder, run } from '../run.ts'

const NEW_SECRET = 'the-secret-that-replaces-it-0123456789ab'

/** A folder that stands for a machine, with the settings of the page's first start and a migrated database. */
async function newMachine() {
  const folder = newFolder()
  const machine = machineIn(folder)
  const [auth, login] = await freePorts(2)
  const env: Record<string, string> = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: `sqlite:${machine.databasePath}`,
    GRANTOR_DRAIN_SECONDS: '0',
  }
  const etc = `${folder}/etc/grantor`
  writeFileSync(
    `${etc}/env`,
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  writeFileSync(`${etc}/secret`, `${TEST_SECRET}\n`)
  writeFileSync(`${etc}/login-secret`, 'between-the-servers-correct-horse\n')
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  const secrets = { GRANTOR_SECRET_FILE: `${etc}/secret`, GRANTOR_LOGIN_SECRET_FILE: `${etc}/login-secret` }
  const serve = (more: Record<string, string> = {}) => launchForTest(['serve'], { ...env, ...secrets, ...more })
  return { folder, etc, machine, env, auth, serve }
}

test('The documented commands change GRANTOR_SECRET while a server runs, tokens stay valid, and a server with the old secret does not start', async () => {
  const { etc, machine, env, serve } = await newMachine()
  const before = await startApp({ databasePath: machine.databasePath })
  const tokens = await before.freshTokens()
  const { clock, ports } = before.grantor
  hangUp()
  await before.close()

  expect(machine.paste('change-secret-1')).toMatchObject({ exit: 0, err: '' })
  const [secret, previous] = ['secret', 'secret-previous'].map((name) => readFileSync(`${etc}/${name}`, 'utf8').trim())
  expect(previous).toBe(TEST_SECRET)
  expect(secret).not.toBe(TEST_SECRET)
  const both = { GRANTOR_SECRET_PREVIOUS_FILE: `${etc}/secret-previous` }
  const server = serve(both)
  await server.printed('auth service is ready')
  writeFileSync(`${etc}/old`, TEST_SECRET)
  const [port] = await freePorts(1)
  const withOldSecret = serve({ GRANTOR_SECRET_FILE: `${etc}/old`, GRANTOR_LISTEN: `127.0.0.1:${port}` })
  await withOldSecret.printed('auth service is ready')

  const done = machine.paste('change-secret-2', env)
  expect(done).toMatchObject({ exit: 0, err: '' })
  expect(done.out).toMatch(
    /^(Rewrapped (sign|sign_es256|sign_rs256|sign_eddsa|seal|mac) key [0-9a-f]{10}\.\n){6}6 keys rewrapped; 6 keys wrapped with GRANTOR_SECRET\.\n$/,
  )
  await withOldSecret.printed('"task":"noticing changes"')
  expect(withOldSecret.out()).toContain('were wrapped with another GRANTOR_SECRET')
  expect(machine.paste('change-secret-2', env).out).toBe('0 keys rewrapped; 6 keys wrapped with GRANTOR_SECRET.\n')
  expect((await send(env.GRANTOR_AUTH_URL ?? '', { path: '/health/ready' })).status).toBe(200)
  server.child.kill('SIGTERM')
  expect((await server.ended()).code).toBe(0)
  expect(server.out()).not.toContain('"level":50')

  expect(machine.paste('change-secret-3')).toMatchObject({ exit: 0, err: '' })
  const old = serve({ GRANTOR_SECRET_FILE: `${etc}/old` })
  expect((await old.ended()).code).toBe(1)
  expect(old.err()).toMatch(/^grantor: the keys in this database were made with another GRANTOR_SECRET; .*\n$/)

  const grantor = await startGrantor({ databasePath: machine.databasePath, clock, ports, secret: secret ?? '' })
  onTestFinished(() => grantor.close())
  const after = appOf(grantor, before.client, new Walk(grantor))
  expect(await after.isActive(tokens.access_token)).toBe(true)
  const next = tokensOf(await after.walk.refresh(before.client, tokens.refresh_token))
  expect(await after.isActive(next.access_token)).toBe(true)
})

test('The command keys rewrap --json prints the rewrapped keys, and with a wrong previous secret the command changes no key', async () => {
  const { env } = await newMachine()
  const now = 1_800_000_000
  await run(['keys', 'rotate'], { ...env, GRANTOR_SECRET: TEST_SECRET }, now)
  const changing = { ...env, GRANTOR_SECRET: NEW_SECRET, GRANTOR_SECRET_PREVIOUS: TEST_SECRET }
  const wrong = await run(['keys', 'rewrap'], { ...changing, GRANTOR_SECRET_PREVIOUS: `${TEST_SECRET}x` }, now)
  expect([wrong.exit, wrong.err]).toEqual([1, expect.stringContaining('made with another GRANTOR_SECRET')])
  const { exit, out } = await run(['keys', 'rewrap', '--json'], changing, now)
  expect(exit).toBe(0)
  const key = { key_id: expect.any(String), kind: expect.any(String) }
  expect(JSON.parse(out)).toEqual({
    rewrapped: Array.from({ length: 7 }, () => key),
    wrapped_with_secret: 7,
    wrapped_with_previous: 0,
  })
})

test('The documented commands change the login secret, and a server that has both secrets accepts both', async () => {
  const { etc, machine, auth, serve } = await newMachine()
  const old = readFileSync(`${etc}/login-secret`, 'utf8').trim()
  const statusFor = async (secret: string) => {
    const headers = { authorization: basic('login-server', encodeURIComponent(secret)) }
    return (await send(`http://localhost:${auth}`, { path: '/login/challenge?login_challenge=none', headers })).status
  }
  writeFileSync(`${etc}/login-secret-old`, old)
  expect(machine.paste('change-login-secret')).toMatchObject({ exit: 0, err: '' })
  const changed = readFileSync(`${etc}/login-secret`, 'utf8').trim()
  expect(changed).not.toBe(old)

  const withBoth = serve({ GRANTOR_LOGIN_SECRET_PREVIOUS_FILE: `${etc}/login-secret-old` })
  await withBoth.printed('auth service is ready')
  expect([await statusFor(old), await statusFor(changed)]).toEqual([400, 400])
  withBoth.child.kill('SIGTERM')
  await withBoth.ended()

  await serve().printed('auth service is ready')
  expect([await statusFor(old), await statusFor(changed)]).toEqual([401, 400])
})
