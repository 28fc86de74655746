/** Apache's mod_auth_openidc, an independent module, protects a page and an API with the recipes of docs/guides/clients.md. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tokensOf } from '../support/app.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, Walk } from '../support/walk.ts'
import { type Apache, missingForApache, startApache } from './apache.ts'
import { recipeOf, register } from './recipe.ts'
import { Visitor } from './visitor.ts'

const isEnabled = process.env.TEST_CLIENTS !== undefined
const missing = isEnabled ? missingForApache() : ''

let grantor: Grantor
let apache: Apache
let client: Pick<TestClient, 'id' | 'secret'>

beforeAll(async () => {
  if (!isEnabled || missing) return
  grantor = await startGrantor()
  const [port = 0] = await freePorts(1)
  const appUrl = `http://localhost:${port}`
  const at = { 'https://portal.example.net': appUrl }
  const portal = await register(grantor, 'mod_auth_openidc', at)
  const api = await register(grantor, 'mod_auth_openidc-api')
  client = { id: portal.client_id, secret: portal.client_secret }
  const recipe = recipeOf('apache', 'mod_auth_openidc') + recipeOf('apache', 'mod_auth_openidc-api')
  apache = await startApache(port, recipe, {
    ISSUER: grantor.authUrl,
    CLIENT_ID: portal.client_id,
    CLIENT_SECRET: portal.client_secret,
    APP_URL: appUrl,
    CRYPTO_PASSPHRASE: 'a passphrase of this test',
    API_CLIENT_ID: api.client_id,
    API_CLIENT_SECRET: api.client_secret,
  })
})
afterAll(async () => {
  await apache?.stop()
  await grantor?.close()
})

/** Requests the protected page, signs in, and is redirected to the page. */
async function signIn(visitor: Visitor, walk: Walk): Promise<void> {
  const { to } = await visitor.visit(`${apache.url}/`)
  expect(to, `Apache: ${apache.errors()}`).toContain(`${grantor.authUrl}/oauth/authorize?`)
  const { to: responseUrl } = await walk.signIn(new URL(to).search.slice(1))
  expect((await visitor.visit(responseUrl)).to, `Apache: ${apache.errors()}`).toBe(`${apache.url}/`)
}

type Session = { access_token: string; refresh_token: string; userinfo: Record<string, unknown> }
const sessionOf = async (visitor: Visitor) =>
  JSON.parse((await visitor.visit(`${apache.url}/callback?info=json`)).body) as Session

test.runIf(isEnabled)(
  'A page behind mod_auth_openidc signs in, has the wallet, refreshes, revokes and signs out',
  async (context) => {
    if (missing) return context.skip(missing)
    const [visitor, walk] = [new Visitor(), new Walk(grantor)]
    await signIn(visitor, walk)
    const inside = await visitor.visit(`${apache.url}/`)
    expect(inside).toMatchObject({ status: 200, body: 'the page' })
    expect(inside.headers.get('x-remote-user')).toBe(walk.wallet.address)
    const session = await sessionOf(visitor)
    expect(session.userinfo).toMatchObject({ sub: walk.wallet.address, account_id: `eip155:1:${walk.wallet.address}` })

    const back = encodeURIComponent(`${apache.url}/`)
    const refresh = `${apache.url}/callback?refresh=${back}&access_token=${session.access_token}`
    expect((await visitor.visit(refresh)).to, `Apache: ${apache.errors()}`).toBe(`${apache.url}/`)
    const refreshed = await sessionOf(visitor)
    expect(refreshed.refresh_token).not.toBe(session.refresh_token)
    expect((await walk.introspect(client, refreshed.access_token)).json()).toMatchObject({ active: true })

    const out = await visitor.visit(`${apache.url}/callback?logout=${encodeURIComponent(`${apache.url}/bye`)}`)
    expect(out.to, `Apache: ${apache.errors()}`).toContain(`${grantor.authUrl}/oauth/logout?`)
    expect((await walk.introspect(client, refreshed.access_token)).json()).toEqual({ active: false })
    const { pathname, search } = new URL(out.to)
    expect((await walk.browse({ path: pathname + search })).location).toBe(`${apache.url}/bye`)
    expect((await visitor.visit(`${apache.url}/`)).to).toContain('/oauth/authorize?')
  },
)

test.runIf(isEnabled)(
  'A person who signs out at the service is signed out at mod_auth_openidc too (OpenID Connect Back-Channel Logout)',
  async (context) => {
    if (missing) return context.skip(missing)
    const [visitor, walk] = [new Visitor(), new Walk(grantor)]
    await signIn(visitor, walk)
    expect((await visitor.visit(`${apache.url}/`)).status).toBe(200)
    await walk.postForm('/account/sign-out', {})
    await expect.poll(async () => (await visitor.visit(`${apache.url}/`)).status).toBe(302)
  },
)

test.runIf(isEnabled)(
  'An API behind mod_auth_openidc accepts a token with its audience and scope, and refuses other and revoked tokens',
  async (context) => {
    if (missing) return context.skip(missing)
    const walk = new Walk(grantor)
    const redirect_uri = `${apache.url}/callback`
    const tokenFor = async (more: Record<string, string>) => {
      const parameters = { client_id: client.id, redirect_uri, response_type: 'code', ...PKCE, ...more }
      const { location } = await walk.authorize(parameters)
      const code = location.startsWith(redirect_uri) ? parameterOf(location, 'code') : (await walk.signIn(parameters)).code
      const grant = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: CODE_VERIFIER }
      return tokensOf(await walk.token(client, grant)).access_token
    }
    const call = (token: string) => fetch(`${apache.url}/api/`, { headers: token ? { authorization: `Bearer ${token}` } : {} })

    const resource = 'https://api.example.net/'
    const token = await tokenFor({ scope: 'openid wallet', resource })
    const answer = await call(token)
    expect(answer.status, `Apache: ${apache.errors()}`).toBe(200)
    expect(answer.headers.get('x-remote-user')).toBe(walk.wallet.address)
    expect((await call('')).status).toBe(401)
    expect((await call(await tokenFor({ scope: 'openid wallet' }))).status, 'another audience').toBe(401)
    expect((await call(await tokenFor({ scope: 'openid', resource }))).status, 'without the scope').toBe(401)

    await walk.revoke(client, token)
    expect((await call(token)).status).toBe(401)
  },
)
