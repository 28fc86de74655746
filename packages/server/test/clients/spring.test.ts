/** Spring Security with the recipes of docs/guides/clients.md, compiled by Maven. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { compileJava, type JavaProgram, startJava, whyNoMaven } from './maven.ts'
import { recipeOf, register } from './recipe.ts'
import { Visitor } from './visitor.ts'

const missing = process.env.TEST_CLIENTS ? whyNoMaven() : null

let grantor: Grantor
let classPath: string
let loginSettings: Record<string, string>
const programs: JavaProgram[] = []

beforeAll(async () => {
  if (!process.env.TEST_CLIENTS || missing !== null) return
  grantor = await startGrantor()
  const properties = recipeOf('properties', 'spring-login')
  classPath = compileJava(recipeOf('xml', 'spring'), {
    LoginApplication: recipeOf('java', 'spring-login'),
    ApiApplication: recipeOf('java', 'spring-api'),
  })
  loginSettings = Object.fromEntries(
    properties
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  )
}, 600_000)
afterAll(async () => {
  for (const program of programs) await program.close()
  await grantor?.close()
})

/** Runs an application of Spring Boot on a free port. */
async function startApplication(main: string, environment: (url: string) => Promise<Record<string, string>>): Promise<string> {
  const [port = 0] = await freePorts(1)
  const url = `http://localhost:${port}`
  const settings = { SERVER_PORT: String(port), ISSUER: grantor.authUrl, ...(await environment(url)) }
  programs.push(await startJava(classPath, { main, environment: settings, until: /Started \w+ in/ }))
  return url
}

test.runIf(process.env.TEST_CLIENTS)(
  'Spring Security signs in, verifies the ID token with ES256, reads userinfo and signs out',
  async (context) => {
    if (missing !== null) return context.skip(missing)
    const app = await startApplication('com.example.login.LoginApplication', async (url) => {
      const client = await register(grantor, 'spring-login', { 'https://app.example.net': url })
      return {
        CLIENT_ID: client.client_id,
        CLIENT_SECRET: client.client_secret,
        SPRING_APPLICATION_JSON: JSON.stringify(loginSettings),
      }
    })
    const visitor = new Visitor()
    const { to } = await visitor.visit(`${app}/oauth2/authorization/grantor`)
    expect(to).toContain(`${grantor.authUrl}/oauth/authorize?`)
    const walk = new Walk(grantor)
    const signedIn = await visitor.visit((await walk.signIn(new URL(to).search.slice(1))).to)
    expect([signedIn.status, new URL(signedIn.to).pathname]).toEqual([302, '/'])
    const { address } = walk.wallet
    const me = await visitor.visit(`${app}/me`)
    expect(JSON.parse(me.body)).toMatchObject({ sub: address, wallet: { sub: address, account_id: `eip155:1:${address}` } })

    const page = await visitor.visit(`${app}/logout`)
    const [, token = ''] = /name="_csrf" type="hidden" value="([^"]*)"/.exec(page.body) ?? []
    const signedOut = await visitor.visit(`${app}/logout`, { _csrf: token })
    const logout = new URL(signedOut.to)
    expect([logout.href.split('?')[0], logout.searchParams.get('post_logout_redirect_uri')]).toEqual([
      `${grantor.authUrl}/oauth/logout`,
      `${app}/`,
    ])
    const ended = await walk.browse({ path: logout.pathname + logout.search })
    expect([ended.status, ended.location]).toEqual([302, `${app}/`])
  },
)

test.runIf(process.env.TEST_CLIENTS)(
  'An API with Spring Security accepts access tokens for its resource and its scope only',
  async (context) => {
    if (missing !== null) return context.skip(missing)
    const resource = 'https://api.example.net/notes'
    const api = await startApplication('com.example.api.ApiApplication', async () => ({ RESOURCE: resource }))
    const [scopes, resources] = [
      ['notes.read', 'notes.write'],
      [resource, 'https://other.example.net/'],
    ]
    const client = await grantor.createClient({ scopes, resources })
    const statusFor = async (request: { resource: string; scope: string }) => {
      const walk = new Walk(grantor)
      const { code } = await walk.signIn({
        response_type: 'code',
        client_id: client.id,
        redirect_uri: String(client.redirectUris[0]),
        ...PKCE,
        ...request,
      })
      const { access_token: token } = (await walk.exchange(client, code, { code_verifier: CODE_VERIFIER })).json()
      const answer = await fetch(`${api}/notes`, { headers: { authorization: `Bearer ${String(token)}` } })
      return [answer.status, await answer.text()]
    }
    expect(await statusFor({ resource, scope: 'notes.read' })).toEqual([200, JSON.stringify({ of: testWallet(0).address })])
    expect(await statusFor({ resource, scope: 'notes.write' })).toEqual([403, ''])
    expect(await statusFor({ resource: 'https://other.example.net/', scope: 'notes.read' })).toEqual([401, ''])
    expect((await fetch(`${api}/notes`)).status).toBe(401)
  },
)
