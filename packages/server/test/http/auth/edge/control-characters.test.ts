/** Parameters with control characters are refused before they reach the store. PostgreSQL cannot store NUL. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../../src/domain/model/store.ts'
import { type App, startApp, type Tokens } from '../../../support/app.ts'
import { createPostgresDatabase, type PostgresDatabase } from '../../../support/postgres.ts'
import { push } from '../../../support/pushed.ts'
import { type Answer, basic, CODE_VERIFIER, encode, PKCE, requestOf } from '../../../support/walk.ts'

let database: PostgresDatabase
let app: App
let tokens: Tokens
/** the calls of the store since the start of the test, with their arguments as JSON */
const calls: string[] = []

beforeAll(async () => {
  database = await createPostgresDatabase()
  app = await startApp({ postgres: database.address })
  recordCalls(app.grantor.store)
})
afterAll(async () => {
  await app.close()
  await database.drop()
})
beforeEach(async () => {
  tokens = await app.freshTokens()
  calls.length = 0
})

function recordCalls(store: Store): void {
  for (const [name, port] of Object.entries(store as unknown as Record<string, unknown>)) {
    if (typeof port !== 'object' || port === null) continue
    const methods = port as Record<string, (...values: unknown[]) => unknown>
    for (const [method, call] of Object.entries(methods)) {
      methods[method] = (...values) => {
        calls.push(`${name}.${method} ${JSON.stringify(values)}`)
        return call(...values)
      }
    }
  }
}

const CONTROL_CHARACTERS = ['\0', '\u0001', '\n', '\u001b', '\u007f']
const withControl = (text: string, control: string): string[] => [control, `${text}${control}`, `${control}${text}`]

/** For each parameter: a valid text, the statuses of a refusal, and a function that sends a text. */
type Place = { right: () => string; status: number[]; send: (text: string) => Promise<Answer> }

const redirectUri = (): string => app.client.redirectUris[0] ?? ''
const token = (body: Record<string, string>) => app.walk.token(app.client, body)
const exchange = (more: Record<string, string>) =>
  token({ grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri(), ...more })
const refresh = (more: Record<string, string>) =>
  token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...more })
const authorize = (more: Record<string, string>) => app.walk.authorize({ ...requestOf(app.client), ...more })
const withBasic = (id: string, secret: string) =>
  app.walk.call('/oauth/token', { id: '', secret: '' }, 'grant_type=x', { authorization: basic(id, secret) })
const login = (path: string, more: Record<string, unknown>) =>
  app.walk.loginApi(path, { login_challenge: 'x', address: app.walk.wallet.address, chain_id: 1, ...more })

const PLACES: Record<string, Place> = {
  'a client id in Basic': { right: () => app.client.id, status: [401], send: (text) => withBasic(text, 'x') },
  'a client secret': { right: () => app.client.secret, status: [401], send: (text) => withBasic(app.client.id, text) },
  'client_id in a body': { right: () => app.client.id, status: [400, 401], send: (text) => token({ client_id: text }) },
  'client_id of an authorization request': {
    right: () => app.client.id,
    status: [400],
    send: (text) => authorize({ client_id: text }),
  },
  redirect_uri: { right: redirectUri, status: [400], send: (text) => authorize({ redirect_uri: text }) },
  request_uri: {
    right: () => 'urn:ietf:params:oauth:request_uri:'.padEnd(77, 'a'),
    status: [302, 400],
    send: (text) => app.walk.authorize({ client_id: app.client.id, request_uri: text }),
  },
  'scope of an authorization request': { right: () => 'profile', status: [302], send: (text) => authorize({ scope: text }) },
  'resource of an authorization request': {
    right: () => 'https://api.example.com/',
    status: [302],
    send: (text) => authorize({ resource: text }),
  },
  'resource of a pushed request': {
    right: () => 'https://api.example.com/',
    status: [400],
    send: (text) => push(app.walk, app.client, { ...requestOf(app.client), resource: text }),
  },
  code: { right: () => 'grc.0123456789.AAAA', status: [400], send: (text) => exchange({ code: text }) },
  code_verifier: { right: () => CODE_VERIFIER, status: [400], send: (text) => exchange({ code_verifier: text }) },
  refresh_token: { right: () => tokens.refresh_token, status: [400], send: (text) => refresh({ refresh_token: text }) },
  'scope of a refresh': { right: () => 'enhancement', status: [400], send: (text) => refresh({ scope: text }) },
  'resource of a refresh': { right: () => app.grantor.authUrl, status: [400], send: (text) => refresh({ resource: text }) },
  'token at introspection (RFC 7662 §2.2: inactive)': {
    right: () => tokens.access_token,
    status: [200],
    send: (text) => app.walk.introspect(app.client, text),
  },
  'token at revocation (RFC 7009 §2.2: done)': {
    right: () => tokens.access_token,
    status: [200],
    send: (text) => app.walk.revoke(app.client, text),
  },
  'client_id of a logout': {
    right: () => app.client.id,
    status: [400],
    send: (text) => app.walk.browse({ path: `/oauth/logout?${encode({ client_id: text })}` }),
  },
  'a login challenge': {
    right: () => 'grl.0123456789.AAAA',
    status: [400],
    send: (text) => login('/login/message', { login_challenge: text }),
  },
  'the address of a login': {
    right: () => app.walk.wallet.address,
    status: [400],
    send: (text) => login('/login/accept', { address: text, signature: '0x' }),
  },
  'the verifier of a login': {
    right: () => 'grv.0123456789.AAAA',
    status: [400],
    send: (text) => app.walk.browse({ path: `/login/complete?${encode({ login_challenge: 'x', login_verifier: text })}` }),
  },
  'the app to end on the account page': {
    right: () => app.client.id,
    status: [303],
    send: (text) => app.walk.postForm('/account/apps/end', { client_id: text }),
  },
  'the session to end on the account page': {
    right: () => 'x'.repeat(16),
    status: [303],
    send: (text) => app.walk.postForm('/account/sessions/end', { session: text }),
  },
  'the id of a receipt': {
    right: () => app.client.id,
    status: [404],
    send: (text) => app.walk.browse({ path: `/account/receipts/${encodeURIComponent(text)}` }),
  },
}

describe.each(Object.entries(PLACES))('Control characters: %s', (_, { right, status, send }) => {
  test.each(CONTROL_CHARACTERS)(
    'A parameter with the control character %j is refused and does not reach the store',
    async (control) => {
      for (const text of withControl(right(), control)) {
        const answer = await send(text)
        expect(answer.status).toBeOneOf(status)
        expect(answer.location).not.toContain('code=')
        expect(answer.body).not.toContain('"active":true')
      }
      expect(calls.filter((call) => /\\u00(?:0|1|7f)|\\n|\u007f/.test(call))).toEqual([])
      expect(await app.isActive(tokens.access_token), 'the token stays active').toBe(true)
    },
  )
})

test('A session cookie with a control character counts as absent and does not reach the store', async () => {
  for (const control of ['%00', '\t', '%0a']) {
    const cookie = [...app.walk.cookies].map(([name, value]) => `${name}=${value.slice(0, -1)}${control}`).join('; ')
    const answer = await app.walk.browse({ path: `/oauth/authorize?${encode(requestOf(app.client, PKCE))}`, headers: { cookie } })
    expect(answer.location).toContain('/login?login_challenge=')
  }
  expect(calls.filter((call) => call.startsWith('sessions.'))).toEqual([])
})
