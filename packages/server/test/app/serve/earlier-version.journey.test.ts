/** A server of 0.1.0, which has no limits, beside a server of this version on one database, after an operator has limited a scope. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Resource } from '../../../src/domain/model/records.ts'
import { claimsOf, type Tokens, tokensOf } from '../../support/app.ts'
import { soon } from '../../support/attempts.ts'
import { offerOf, openUrl } from '../../support/cross-device.ts'
import { authorizedDevice, challengeOfDevice, DEVICE_GRANT, decide, openDevicePage, poll } from '../../support/device.ts'
import { hasEarlierProgram, writeEarlierProgram } from '../../support/earlier-program.ts'
import { freePorts } from '../../support/free-ports.ts'
import { proveWith } from '../../support/limits.ts'
import { createPostgresDatabase } from '../../support/postgres.ts'
import type { Grantor, TestClient } from '../../support/start.ts'
import { type Answer, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../../support/walk.ts'
import { launch, newFolder, type Running, run } from '../run.ts'

const API = 'https://api.example.com/'
const AUTH_URL = 'http://localhost:4000'
const LIMIT = '| at most 3 times a day, 50.00 NESO each, 120.00 a day'
const CHOSEN = { uses: '3', each: '1', amount: '3' }

const engines = [
  { engine: 'SQLite', open: async () => ({ url: `sqlite:${join(newFolder(), 'grantor.sqlite')}`, drop: async () => undefined }) },
  { engine: 'PostgreSQL', open: () => createPostgresDatabase() },
]

describe.skipIf(!hasEarlierProgram()).each(engines)('A server of 0.1.0 beside one of this version ($engine)', ({ open }) => {
  const closing: (() => unknown)[] = []
  let commandOfEarlier: (...argv: string[]) => Promise<string>
  let command: typeof commandOfEarlier
  let app: TestClient
  let device: TestClient
  let api: TestClient
  /** one browser at the server of 0.1.0 and at the server of this version */
  let earlier: Walk
  let present: Walk
  /** from before the limit */
  let before: Tokens

  beforeAll(async () => {
    const { url, drop } = await open()
    closing.push(drop)
    const program = writeEarlierProgram()
    const env = {
      GRANTOR_DATABASE_URL: url,
      GRANTOR_AUTH_URL: AUTH_URL,
      GRANTOR_LOGIN_URL: 'http://localhost:4001',
      GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
      GRANTOR_LOGIN_SECRET: 'test-login-secret-between-the-servers-01234',
      GRANTOR_DRAIN_SECONDS: '0',
    }
    const started = (argv: string[], more = {}, of?: string): Running => {
      const one = launch(argv, { ...env, ...more }, of)
      closing.push(() => one.child.kill('SIGKILL'))
      return one
    }
    commandOfEarlier = async (...argv) => {
      const one = started(argv, {}, program)
      const { code } = await one.ended()
      if (code !== 0) throw new Error(`grantor ${argv.join(' ')} of 0.1.0 failed: ${one.err()}`)
      return one.out()
    }
    command = async (...argv) => {
      const { exit, out, err } = await run(argv, env)
      if (exit !== 0) throw new Error(`grantor ${argv.join(' ')} failed: ${err}`)
      return out
    }
    const serve = async (of?: string) => {
      const [port = 0] = await freePorts(1)
      await started(['serve'], { GRANTOR_LISTEN: `127.0.0.1:${port}` }, of).printed('auth service is ready')
      return new Walk({ authUrl: `http://localhost:${port}`, deps: { settings: { authUrl: AUTH_URL } } } as Grantor)
    }
    const clientOf = (out: string): TestClient => {
      const { client_id: id, client_secret, redirect_uris: redirectUris } = JSON.parse(out) as Record<string, unknown>
      return { id, secret: client_secret ?? '', redirectUris } as TestClient
    }
    const scopes = (limit: string) =>
      ['enhance', 'enhancement'].flatMap((scope) => ['--scope', `${scope}=enhance your items${limit}`])
    const registered = [...['enhance', 'enhancement', 'read'].flatMap((scope) => ['--scope', scope]), '--resource', API, '--json']

    await commandOfEarlier('migrate')
    const [created] = await Promise.all([
      commandOfEarlier('clients', 'create', '--name', 'App', '--redirect-uri', 'https://app.example.net/callback', ...registered),
      commandOfEarlier('resources', 'create', API, '--name', 'Forge', ...scopes(''), '--scope', 'read=read'),
    ])
    app = clientOf(created)
    earlier = await serve(program)
    before = tokensOf(await earlier.exchange(app, (await earlier.signIn(request())).code))

    await command('migrate')
    const grants = ['--grant-type', DEVICE_GRANT, '--grant-type', 'refresh_token']
    device = clientOf(await command('clients', 'create', '--name', 'TV', '--native', ...grants, ...registered))
    api = clientOf(await command('clients', 'create', '--name', 'Forge', '--resource-server', API, '--json'))
    const { grantor } = await serve()
    present = earlier.copy(grantor)
    await command('resources', 'update', API, ...scopes(LIMIT), '--scope', 'read=read')
    const errors = async () => {
      const answers = await Promise.all([earlier, present].map((walk) => walk.authorize(request({ prompt: 'none' }))))
      return answers.map(({ location }) => parameterOf(location, 'error'))
    }
    await soon(errors, ['invalid_target', 'consent_required'], 100)
  })
  afterAll(async () => {
    for (const close of closing.toReversed()) await close()
  })

  const request = (more = {}) => requestOf(app, { resource: API, scope: 'enhance', ...more })
  const errorOf = (answer: Answer) => answer.json().error
  const draw = (token: string, key: string) => present.call('/oauth/draw', api, { token, key, amount: '100' })
  const askForDevice = () => authorizedDevice(present, device, { resource: API, scope: 'enhance' })
  /** The same browser at the server of 0.1.0, with its present cookies. */
  const sameAtEarlier = () => present.copy(earlier.grantor)

  /** Signs at the server of this version. Returns the code. */
  async function signedCode(): Promise<string> {
    const { path } = await proveWith(present, await present.challenge(request({ prompt: 'login' })), CHOSEN)
    return parameterOf(movingTo(await present.complete(path)), 'code')
  }

  test('The server of 0.1.0 refuses each request for the resource of a limit, also for a scope that every resource has', async () => {
    for (const scope of ['enhance', 'enhancement', 'read']) {
      const { location } = await sameAtEarlier().authorize(request({ scope }))
      expect(parameterOf(location, 'error')).toBe('invalid_target')
      expect(errorOf(await earlier.call('/oauth/par', app, request({ scope })))).toBe('invalid_target')
      const asked = await earlier.call('/oauth/device_authorization', device, { resource: API, scope })
      expect(errorOf(asked)).toBe('invalid_target')
    }
  })

  test('A request for the limited scope that was pushed to the server of this version gets no code from the server of 0.1.0', async () => {
    for (const more of [{}, { state: 's'.repeat(5000) }]) {
      const { request_uri } = (await present.call('/oauth/par', app, request(more))).json()
      const query = { client_id: app.id, request_uri: request_uri as string }
      expect((await sameAtEarlier().authorize(query)).location).not.toContain('code=')
      const challenge = await present.challenge(query)
      expect((await sameAtEarlier().describe(challenge)).status).toBe(400)
    }
  })

  test('The server of 0.1.0 opens no challenge with a limit: no text to sign, no proof, no end of the login, no page for another device', async () => {
    const challenge = await present.challenge(request())
    const old = sameAtEarlier()
    expect((await old.describe(challenge)).status).toBe(400)
    const claim = { login_challenge: challenge, address: old.wallet.address, chain_id: 1 }
    expect((await old.loginApi('/login/message', claim)).status).toBe(400)
    const { url } = await offerOf(present, challenge)
    const resumeUrl = (await present.describe(challenge)).json().resume_url as string
    const whole = `${AUTH_URL}/login/cross-device?login_challenge=${challenge}`
    for (const link of [url, whole, resumeUrl]) expect((await openUrl(old, link)).status).toBeGreaterThanOrEqual(400)

    const proof = await present.proof(challenge)
    expect((await old.loginApi('/login/accept', proof)).status).toBe(400)
    const { path } = await proveWith(present, challenge, CHOSEN)
    const ended = await old.complete(path)
    expect([ended.status, noticeOf(ended)]).toEqual([400, 'broken_link'])
    // The signature still counts at the other server.
    expect(movingTo(await present.complete(path))).toContain('code=')
  })

  test('The server of 0.1.0 redeems no code with a limit, and the code stays usable', async () => {
    const code = await signedCode()
    expect(errorOf(await earlier.exchange(app, code))).toBe('invalid_grant')
    const { access_token: token } = tokensOf(await present.exchange(app, code))
    expect((await draw(token, 'a')).json()).toMatchObject({ draw: 1, left: { uses: 2, amount: 200 } })
  })

  test("The server of 0.1.0 opens no device's request with a limit, and gives no tokens after the user signed elsewhere", async () => {
    const asked = await askForDevice()
    expect((await openDevicePage(sameAtEarlier(), asked.user_code)).status).toBe(400)
    const posted = await decide(sameAtEarlier(), await openDevicePage(present, asked.user_code), 'allow')
    expect([posted.status, noticeOf(posted)]).toEqual([400, 'broken_link'])
    const { path } = await proveWith(present, await challengeOfDevice(present, asked), CHOSEN)
    expect((await sameAtEarlier().complete(path)).status).toBe(400)
    expect((await present.complete(path)).status).toBe(200)
    expect((await poll(earlier, device, asked)).json()).not.toHaveProperty('access_token')
    const { access_token: token } = tokensOf(await poll(present, device, asked))
    expect((await draw(token, 'a')).json()).toMatchObject({ draw: 1, left: { uses: 2, amount: 200 } })
  })

  test('The server of 0.1.0 introspects a token with a limit, and a refresh there leaves the token usable at the other server', async () => {
    const tokens = tokensOf(await present.exchange(app, await signedCode()))
    await draw(tokens.access_token, 'a')
    expect((await earlier.introspect(api, tokens.access_token)).json()).toMatchObject({ active: true, scope: 'enhance' })
    // As each refresh of a scope that an operator removed, also of a grant from before the limit.
    for (const { refresh_token } of [tokens, before])
      expect(errorOf(await earlier.refresh(app, refresh_token))).toBe('invalid_scope')
    const refreshed = tokensOf(await present.refresh(app, tokens.refresh_token))
    expect((await draw(refreshed.access_token, 'b')).json()).toMatchObject({ draw: 2, left: { uses: 1, amount: 100 } })
    expect((await draw(refreshed.access_token, 'a')).json()).toMatchObject({ draw: 1, left: { uses: 2, amount: 200 } })
    const free = tokensOf(await present.refresh(app, before.refresh_token))
    expect(errorOf(await draw(free.access_token, 'c'))).toBe('limit_not_signed')
  })

  test('A revocation at the server of 0.1.0 ends the limit, and what was drawn is answered again and given back', async () => {
    const tokens = tokensOf(await present.exchange(app, await signedCode()))
    const first = (await draw(tokens.access_token, 'a')).json()
    expect((await earlier.revoke(app, tokens.refresh_token)).status).toBe(200)
    expect(errorOf(await draw(tokens.access_token, 'b'))).toBe('token_inactive')
    expect((await draw(tokens.access_token, 'a')).json()).toEqual(first)
    const { grant_id } = claimsOf(tokens.access_token)
    const returned = await present.call('/oauth/draw/return', api, { grant_id, key: 'a', amount: '100' })
    expect(returned.json()).toEqual({ draw: 1, returned: 100 })
  })

  test.each([
    ['--name', 'New forge'],
    ['--open-to', 'registered'],
  ])('A command of 0.1.0 that changes the API keeps the limits: resources update %s', async (...change) => {
    const limits = async () => {
      const { scopes } = JSON.parse(await command('resources', 'show', API, '--json')) as Resource
      return scopes.map(({ name, limit }) => [name, limit?.uses])
    }
    const before = await limits()
    expect(before).toEqual([
      ['enhance', 3],
      ['enhancement', 3],
      ['read', undefined],
    ])
    await commandOfEarlier('resources', 'update', API, ...change)
    expect(await limits()).toEqual(before)
  })
})
