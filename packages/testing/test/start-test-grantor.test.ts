/** `startTestGrantor`: a real Grantor in the process of a test, with tokens, a clock and faults. */
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { createTokenCheck } from '@grantor/resource'
import { describe, expect, vi } from 'vitest'
import { test as base, started } from '../../server/test/support/fixtures.ts'
import { basic } from '../../server/test/support/walk.ts'
import { startTestGrantor, type TestGrantor } from '../src/index.ts'

const API = 'https://api.example.com/'

const CLIENTS = [
  { name: 'My app', redirect_uris: ['http://localhost:3000/callback'], scopes: ['notes.read', 'openid'], resources: [API] },
  { name: 'My page', type: 'public', redirect_uris: ['http://localhost:3000/page'] },
  { name: 'My API', resource_server: API },
] as const
const RESOURCES = [{ resource: API, name: 'My notes', scopes: [{ name: 'notes.read', description: 'read your notes' }] }]

const test = base.extend(
  'issuer',
  started(
    () => startTestGrantor({ clients: CLIENTS, resources: RESOURCES }),
    (issuer) => issuer.stop(),
  ),
)

/** The check of tokens as the API of a builder has it. */
function apiOf({ issuer, clock, client }: TestGrantor) {
  const { clientId, clientSecret } = client('My API')
  return createTokenCheck({
    issuer,
    audience: API,
    introspection: { clientId, clientSecret: clientSecret ?? '' },
    now: clock.now,
  })
}

const callWith = (token: string) => ({ method: 'GET', url: '/', headers: { authorization: `Bearer ${token}` } })

function post(grantor: TestGrantor, path: string, fields: Record<string, string>): Promise<Response> {
  const { clientId, clientSecret } = grantor.client()
  const headers = { authorization: basic(clientId, clientSecret ?? '') }
  return fetch(`${grantor.issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(fields) })
}

describe('A token of `tokenFor`', () => {
  test('A token for a wallet passes the check of an API, with the wallet, the client and the scopes', async ({
    issuer: grantor,
  }) => {
    const { access_token, token_type, scope } = await grantor.tokenFor({ scope: 'notes.read' })
    expect([token_type, scope]).toEqual(['Bearer', 'notes.read'])
    expect(await apiOf(grantor)(callWith(access_token), { scopes: ['notes.read'] })).toMatchObject({
      wallet: grantor.wallets[0]?.address,
      clientId: grantor.client('My app').clientId,
      scopes: ['notes.read'],
    })
  })

  test('A token belongs to the wallet and the client that the test names, also to a client without a secret', async ({
    issuer: grantor,
  }) => {
    const wallet = grantor.wallets[2]
    const { access_token } = await grantor.tokenFor({ wallet, client: 'My page' })
    const introspected = await post(grantor, '/oauth/introspect', { token: access_token })
    expect(await introspected.json()).toMatchObject({ active: false })
    const userinfo = await fetch(`${grantor.issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${access_token}` } })
    expect(await userinfo.json()).toMatchObject({ error: 'insufficient_scope' })
    const { client_id, sub } = JSON.parse(Buffer.from(access_token.split('.')[1] ?? '', 'base64url').toString())
    expect([client_id, sub]).toEqual([grantor.client('My page').clientId, wallet?.address])
  })

  test('A token with the scope openid comes with an ID token and a refresh token that works', async ({ issuer: grantor }) => {
    const { id_token, refresh_token = '' } = await grantor.tokenFor({ scope: 'openid' })
    expect(id_token).toMatch(/^ey/)
    const refreshed = await post(grantor, '/oauth/token', { grant_type: 'refresh_token', refresh_token })
    expect(refreshed.status).toBe(200)
  })

  test('Tokens that are requested together are tokens of different grants', async ({ issuer: grantor }) => {
    const tokens = await Promise.all([1, 2, 3].map(() => grantor.tokenFor()))
    expect(new Set(tokens.map(({ refresh_token }) => refresh_token)).size).toBe(3)
  })

  test('A wallet of a private key that the test gives signs in with its own address', async () => {
    // The private key 1, whose address is well known.
    await using grantor = await startTestGrantor({ wallets: [`0x${'1'.padStart(64, '0')}`] })
    expect(grantor.wallets.map(({ address }) => address)).toEqual(['0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'])
    expect(await grantor.tokenFor()).toMatchObject({ token_type: 'Bearer' })
  })

  test.for([
    [{ scope: 'notes.write' }, /^no token for the client "My app": the authorization request was refused: invalid_scope/],
    [{ resource: 'https://other.example/' }, /invalid_target/],
    [{ client: 'My API' }, /the client has no redirect_uris/],
    [{ client: 'Mine' }, /^client is none of the clients of this test issuer: "My app", "My page", "My API"$/],
    [{ wallet: `0x${'1'.repeat(40)}` }, /^wallet is none of the wallets of this test issuer/],
  ] as const)('The request for a token %j is refused with the reason', async ([request, reason], { issuer: grantor }) => {
    await expect(async () => grantor.tokenFor(request)).rejects.toThrow(reason)
  })
})

describe('The clock and the faults of a test', () => {
  test('A token is no longer active after the test has moved the clock past its end', async ({ issuer: grantor }) => {
    const { access_token, expires_in } = await grantor.tokenFor()
    const check = apiOf(grantor)
    await check(callWith(access_token))
    grantor.clock.advance(expires_in + 60)
    await expect(check(callWith(access_token))).rejects.toMatchObject({ status: 401 })
    expect(await grantor.tokenFor()).toMatchObject({ token_type: 'Bearer' })
  })

  test('A clock that the test gives is the clock of the tokens', async () => {
    await using grantor = await startTestGrantor({ now: () => 2_000_000_000 })
    const { access_token } = await grantor.tokenFor()
    expect(JSON.parse(Buffer.from(access_token.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
      iat: 2_000_000_000,
    })
  })

  test('Faults meet the next requests to the endpoint in their order, and not the requests of `tokenFor`', async ({
    issuer: grantor,
  }) => {
    grantor.faults.failNext('introspect', 500)
    grantor.faults.failNext('introspect')
    grantor.faults.failNext('token', 503, 2)
    const { access_token } = await grantor.tokenFor()
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await post(grantor, '/oauth/introspect', { token: access_token })).status)
    expect(statuses).toEqual([500, 503, 200])
    const failed = await post(grantor, '/oauth/token', { grant_type: 'client_credentials' })
    expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '1'])
    grantor.faults.clear()
    expect((await post(grantor, '/oauth/token', { grant_type: 'client_credentials' })).status).toBe(400)
  })

  test('A slow endpoint answers after the ordered time, and other endpoints at once', async ({ issuer: grantor }) => {
    grantor.faults.slow('jwks', 300)
    const order: string[] = []
    const began = performance.now()
    const slow = fetch(`${grantor.issuer}/oauth/jwks`).then(() => order.push('jwks'))
    await fetch(`${grantor.issuer}/.well-known/openid-configuration`).then(() => order.push('metadata'))
    await slow
    expect(order).toEqual(['metadata', 'jwks'])
    expect(performance.now() - began).toBeGreaterThan(299)
  })

  test('The end of the issuer does not wait for a slow answer', async () => {
    const grantor = await startTestGrantor()
    grantor.faults.slow('jwks', 60_000)
    grantor.faults.failNext('jwks')
    const answers = [1, 2].map(() => fetch(`${grantor.issuer}/oauth/jwks`).then(({ status }) => status))
    // The second fault is met after the first one, so the slow request has arrived.
    expect(await Promise.race(answers)).toBe(503)
    await grantor.stop()
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200, 503]))
  })

  test.for([
    [(grantor: TestGrantor) => grantor.clock.advance(-1), /moves forward/],
    [(grantor: TestGrantor) => grantor.faults.failNext('tokn' as 'token'), /^"tokn" is no endpoint with faults: metadata, jwks/],
    [(grantor: TestGrantor) => grantor.faults.failNext('token', 200), /400 to 599/],
    [(grantor: TestGrantor) => grantor.faults.slow('token', 60_001), /0 to 60000/],
    [(grantor: TestGrantor) => grantor.faults.failNext('token', 503, 1001), /at most 1000 faults/],
  ] as const)('The order %s is refused', ([order, reason], { issuer: grantor }) => {
    expect(() => order(grantor)).toThrow(reason)
  })
})

describe('The start and the end of a test issuer', () => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`grantor-test-issuer-${process.pid}-`))

  test('Several issuers run beside each other, and a token of one is unknown to the other', async ({ issuer: grantor }) => {
    await using other = await startTestGrantor({ clients: CLIENTS, resources: RESOURCES })
    const { access_token } = await other.tokenFor()
    await expect(apiOf(grantor)(callWith(access_token))).rejects.toMatchObject({ status: 401 })
  })

  test('A client has the same id and secret in every issuer, so an app can have them in a file', async ({ issuer: grantor }) => {
    await using other = await startTestGrantor({ clients: CLIENTS, resources: RESOURCES })
    expect(other.clients).toEqual(grantor.clients)
  })

  test('After `stop`, no port is open and the database is gone', async () => {
    const before = new Set(folders())
    const grantor = await startTestGrantor()
    const own = folders().find((name) => !before.has(name))
    await grantor.stop()
    await grantor.stop()
    expect(own).toBeDefined()
    expect(folders()).not.toContain(own)
    for (const url of [grantor.issuer, grantor.loginUrl]) {
      const refused = new Promise((resolve) => connect(Number(new URL(url).port), '127.0.0.1').once('error', resolve))
      expect(await refused).toMatchObject({ code: 'ECONNREFUSED' })
    }
  })

  test('With NODE_ENV=production nothing is started, and the error says what to use', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    try {
      await expect(startTestGrantor()).rejects.toThrow(
        /^the test issuer was not started: NODE_ENV is production.* Use grantor serve$/,
      )
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('Faults in clients, resources, wallets and settings are refused together with their names', async () => {
    const clients = [{ name: 'My app', redirect_uri: 'http://localhost:3000/callback' }]
    await expect(startTestGrantor({ clients })).rejects.toThrow(
      /clients\[0\]\.redirect_uri is not supported; did you mean .*redirect_uris/,
    )
    await expect(startTestGrantor({ clients: [{ name: 'A', redirect_uris: ['http://app.example/'] }] })).rejects.toThrow(/https/)
    await expect(startTestGrantor({ wallets: ['0xsecret'] })).rejects.toThrow(/^wallets\[0\] must be a private key/)
    await expect(startTestGrantor({ settings: { GRANTOR_SECRET: 'x' } })).rejects.toThrow(/makes GRANTOR_SECRET itself/)
    await expect(startTestGrantor({ settings: { GRANTOR_ACCESS_TOKEN_LIFETIME: 'x' } })).rejects.toThrow(/ACCESS_TOKEN_LIFETIME/)
    await expect(startTestGrantor({ port: 70_000 })).rejects.toThrow(/^the first port must be from 1 to 65533/)
  })

  test('The settings of the test apply, and the log is given to the test line by line', async () => {
    const lines: string[] = []
    const settings = { GRANTOR_ACCESS_TOKEN_LIFETIME: '120' }
    await using grantor = await startTestGrantor({ settings, log: (line) => lines.push(line) })
    expect(await grantor.tokenFor()).toMatchObject({ expires_in: 120 })
    expect(lines.map((line) => (JSON.parse(line) as { route?: string }).route)).toContain('/oauth/token')
  })

  test('A port that is in use is named, with what to do', async ({ issuer: grantor }) => {
    const port = Number(new URL(grantor.issuer).port)
    await expect(startTestGrantor({ port })).rejects.toThrow(new RegExp(`^port ${port} is in use`))
  })
})
