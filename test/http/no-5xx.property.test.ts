import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, type Tokens } from '../support/app.ts'
import { runs } from '../support/runs.ts'
import { basic, LOGIN_SERVER, requestOf } from '../support/walk.ts'

type Endpoint = { method: 'GET' | 'POST' | 'OPTIONS' | 'HEAD'; path: string; parameters: string[]; json?: true }

const AUTHORIZE = ['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method', 'prompt', 'resource']
const TOKEN = ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource', 'client_id', 'client_secret']
const LOGIN = ['login_challenge', 'address', 'chain_id', 'scope', 'signature', 'client_ip']

/** Every endpoint of the auth service, with every parameter it reads. */
const ENDPOINTS: Endpoint[] = [
  { method: 'GET', path: '/oauth/authorize', parameters: AUTHORIZE },
  { method: 'POST', path: '/oauth/authorize/confirm', parameters: ['confirmation', 'decision'] },
  { method: 'POST', path: '/oauth/token', parameters: TOKEN },
  { method: 'POST', path: '/oauth/introspect', parameters: ['token', 'token_type_hint', 'client_id', 'client_secret'] },
  { method: 'POST', path: '/oauth/revoke', parameters: ['token', 'token_type_hint', 'client_id', 'client_secret'] },
  { method: 'OPTIONS', path: '/oauth/token', parameters: [] },
  { method: 'GET', path: '/oauth/jwks', parameters: [] },
  { method: 'GET', path: '/.well-known/oauth-authorization-server', parameters: [] },
  { method: 'GET', path: '/login/complete', parameters: ['login_challenge', 'login_verifier'] },
  { method: 'GET', path: '/login/challenge', parameters: ['login_challenge'] },
  { method: 'POST', path: '/login/message', parameters: LOGIN, json: true },
  { method: 'POST', path: '/login/accept', parameters: LOGIN, json: true },
  { method: 'POST', path: '/login/reject', parameters: LOGIN, json: true },
  { method: 'GET', path: '/health/live', parameters: [] },
  { method: 'HEAD', path: '/health/ready', parameters: [] },
  { method: 'GET', path: '/assets/grantor.css', parameters: [] },
]

let app: App
let tokens: Tokens
/** values that pass some checks, so that random ones are tried beside them and reach further in */
let genuine: string[]
let cookies: string

beforeAll(async () => {
  app = await startApp({ failureLimit: 1_000_000, trustedProxies: ['127.0.0.1'] })
  tokens = await app.freshTokens()
  const challenge = await app.walk.challenge(requestOf(app.client, { prompt: 'login' }))
  const proven = new URL(await app.walk.prove(challenge), 'http://x').searchParams
  genuine = [
    app.client.id,
    app.client.secret,
    ...app.client.redirectUris,
    'code',
    'authorization_code',
    'refresh_token',
    'enhancement',
    'S256',
    'consent',
    'none',
    'allow',
    'x'.repeat(43),
    tokens.access_token,
    tokens.refresh_token,
    await app.freshCode(),
    challenge,
    proven.get('login_verifier') ?? '',
    app.walk.wallet.address,
    `0x${'0'.repeat(40)}`,
    `0x${'1b'.repeat(65)}`,
    app.grantor.authUrl,
  ]
  cookies = [...app.walk.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
})
afterAll(() => app.close())

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const anyBytes = fc.uint8Array({ maxLength: 80 }).map(latin1)
/** What a header may hold on the wire: any byte but controls (RFC 9110 §5.5). */
const headerBytes = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }), fc.constant(9)), { maxLength: 60 })
  .map((bytes) => latin1(Uint8Array.from(bytes)))
const index = fc.nat(1000)
const strangeText = fc.oneof(anyBytes, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.constantFrom('', '__proto__', '\0', '%', '../', 'null', '{}', '[]'))

/** A value: genuine, genuine with something changed, or anything at all. */
type Value = { kind: 'genuine' | 'changed' | 'strange'; index: number; text: string; raw: boolean }
const value: fc.Arbitrary<Value> = fc.record({ kind: fc.constantFrom('genuine', 'changed', 'strange'), index, text: strangeText, raw: fc.boolean() })

function textOf({ kind, index, text }: Value): string {
  const known = genuine[index % genuine.length] ?? ''
  if (kind === 'strange') return text
  return kind === 'genuine' ? known : known.slice(0, index % (known.length + 1)) + text + known.slice((index % (known.length + 1)) + 1)
}

/** Percent-encoded as UTF-8, or as the bytes it is. */
function encoded(each: Value): string {
  const text = textOf(each)
  return each.raw ? text : encodeURIComponent(text.toWellFormed())
}

const HEADERS = [
  ...['accept', 'accept-language', 'accept-version', 'access-control-request-headers', 'access-control-request-method', 'authorization'],
  ...['content-type', 'cookie', 'dpop', 'forwarded', 'host', 'if-none-match', 'origin', 'range', 'referer', 'sec-fetch-site', 'te', 'upgrade'],
  ...['user-agent', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-http-method-override', 'x-request-id', 'content-encoding'],
]

const attempt = fc.record({
  pairs: fc.array(fc.record({ name: index, value }), { maxLength: 9 }),
  order: fc.boolean(),
  headers: fc.array(fc.tuple(fc.constantFrom(...HEADERS), fc.oneof(headerBytes, headerBytes, value.map((each) => ({ value: each })))), { maxLength: 4 }),
  whoAsks: fc.constantFrom('client', 'client', 'login server', 'nobody', 'strange'),
  session: fc.boolean(),
  json: fc.option(fc.json(), { freq: 4 }),
  authorization: headerBytes,
})

type Attempt = typeof attempt extends fc.Arbitrary<infer Each> ? Each : never

/** Each parameter in turn, so that most requests have what their endpoint asks for first. */
function pairsOf({ parameters }: Endpoint, { pairs, order }: Attempt): [string, Value][] {
  if (parameters.length === 0) return pairs.map((pair) => [textOf(pair.value), pair.value])
  return pairs.map((pair, at) => [parameters[(order ? at : pair.name) % parameters.length] ?? '', pair.value])
}

function bodyOf(endpoint: Endpoint, made: Attempt): string | Buffer | undefined {
  if (endpoint.method !== 'POST') return undefined
  const pairs = pairsOf(endpoint, made)
  if (!endpoint.json) return Buffer.from(pairs.map(([name, each]) => `${name}=${encoded(each)}`).join('&'), 'latin1')
  if (made.json !== null && made.pairs.length === 0) return made.json
  const fields = pairs.map(([name, each]) => [name, each.raw && made.json !== null ? (JSON.parse(made.json) as unknown) : textOf(each)])
  return JSON.stringify({ chain_id: 1, ...Object.fromEntries(fields) })
}

function headersFor(endpoint: Endpoint, made: Attempt): Record<string, string> {
  const type = endpoint.json ? 'application/json' : 'application/x-www-form-urlencoded'
  const who = { client: basic(app.client.id, app.client.secret), 'login server': LOGIN_SERVER, nobody: null, strange: made.authorization }
  const authorization = endpoint.path.startsWith('/login/') && made.whoAsks === 'client' ? LOGIN_SERVER : who[made.whoAsks as keyof typeof who]
  return {
    ...(endpoint.method === 'POST' ? { 'content-type': type } : {}),
    ...(authorization === null ? {} : { authorization }),
    ...(made.session ? { cookie: cookies } : {}),
    ...Object.fromEntries(made.headers.map(([name, each]) => [name, headerText(each)])),
  }
}

function headerText(each: string | { value: Value }): string {
  return typeof each === 'string' ? each : latin1(Buffer.from(textOf(each.value), 'utf8')).replace(/[^\t\x20-\x7e\x80-\xff]/g, '')
}

describe('no input makes a 5xx', () => {
  test.each(ENDPOINTS)('$method $path, whatever its parameters and headers hold', async (endpoint) => {
    await fc.assert(
      fc.asyncProperty(attempt, async (made) => {
        const pairs = endpoint.method === 'POST' ? [] : pairsOf(endpoint, made)
        const query = pairs.map(([name, each]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(textOf(each).toWellFormed())}`)
        const answer = await app.grantor.authServer.inject({
          method: endpoint.method,
          url: query.length === 0 ? endpoint.path : `${endpoint.path}?${query.join('&')}`,
          headers: headersFor(endpoint, made),
          payload: bodyOf(endpoint, made),
        })
        expect(answer.statusCode).toBeLessThan(500)
        expect(answer.headers['content-type'] ?? '').not.toMatch(/text\/plain/)
      }),
      { numRuns: runs },
    )
  })

  test.each(['/', '/oauth/', '/login/', '/.well-known/', '/assets/', '/health/'])('no path below %s', async (folder) => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'), fc.webPath(), anyBytes, async (method, path, bytes) => {
        const url = `${folder}${path.slice(1)}${[...bytes].map((each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}`
        const answer = await app.grantor.authServer.inject({ method: method as 'GET', url })
        expect(answer.statusCode).toBeLessThan(500)
      }),
      { numRuns: Math.ceil(runs / 3) },
    )
  })

  test('and after all of them nothing was logged as an error, and everything works', async () => {
    expect(app.grantor.logLines.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
    const { code } = await app.walk.signIn(requestOf(app.client, { prompt: 'login' }))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
})
