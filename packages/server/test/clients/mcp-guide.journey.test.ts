/** The snippets of docs/guides/protect-an-api.md in their frameworks, which nobody here wrote: registered by the page's commands, called with real tokens. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTokenCheck } from '@grantor/resource'
import { getRequestListener } from '@hono/node-server'
import * as mcp from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import type { Hono } from 'hono'
import { afterEach, expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { blockWith } from '../support/page-blocks.ts'
import type { Grantor } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, Walk } from '../support/walk.ts'
import { Development, TEST_ACCOUNT } from './pasted-page.ts'
import { recipeOf, register, writeRecipe } from './recipe.ts'

const RESOURCE_FOLDER = join(import.meta.dirname, '../../../resource/src')
const REDIRECT_URI = 'http://127.0.0.1:7777/callback'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

let made = 0

/** Registers an API and its client as the page does, for a free port, and describes the API as in `resource.js`. */
async function describeApi(grantor: Grantor, path: string) {
  const [port = 0] = await freePorts(1)
  const resource = `http://127.0.0.1:${port}${path}`
  const places = { 'https://api.example.com/notes': resource }
  const api = await register(grantor, 'api', places, 'protect-an-api')
  const agent = await register(grantor, 'agent', places, 'protect-an-api')
  const values: Record<string, string> = {
    ISSUER: grantor.authUrl,
    RESOURCE: resource,
    CLIENT_ID: api.client_id,
    CLIENT_SECRET: api.client_secret,
  }
  // Each description has its own values and the test's clock.
  const described = recipeOf('js', 'resource', 'protect-an-api')
    .replaceAll(/process\.env\.([A-Z_]+)/g, (_, name: string) => JSON.stringify(values[name]))
    .replace(/onRefusal: .*/, `now: () => ${grantor.clock.now()},`)
  const resourceFile = writeRecipe(`resource.${made++}.mjs`, withPaths(described))
  return { port, resource, agentId: agent.client_id, resourceFile }
}

/** A snippet's `@grantor/resource` is this checkout's. */
function withPaths(snippet: string): string {
  return snippet.replaceAll(/'grantor\/resource(?:\/(\w+))?'/g, (_, name = 'index') =>
    JSON.stringify(pathToFileURL(join(RESOURCE_FOLDER, `${name}.ts`)).href),
  )
}

async function importSnippet<Exports>(mark: string, { resourceFile }: { resourceFile: string }): Promise<Exports> {
  const snippet = recipeOf('js', mark, 'protect-an-api').replaceAll(
    /'[./]*\/resource\.js'/g,
    JSON.stringify(pathToFileURL(resourceFile).href),
  )
  const path = writeRecipe(`${mark}.${made++}.mjs`, withPaths(snippet))
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  return (await import(pathToFileURL(path).href)) as Exports
}

async function listen(listener: RequestListener | Server, port: number): Promise<void> {
  const server = typeof listener === 'function' ? createServer(listener) : listener
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
}

/** A wallet's token for the agent, with these scopes. */
async function tokenFor(
  grantor: Grantor,
  { agentId, resource }: { agentId: string; resource: string },
  scope: string,
): Promise<string> {
  const walk = new Walk(grantor)
  const request = { response_type: 'code', client_id: agentId, redirect_uri: REDIRECT_URI, scope, resource, ...PKCE }
  const { code } = await walk.signIn(request)
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER }
  const answer = await walk.token({ id: agentId, secret: '' }, exchange)
  return String(answer.json().access_token)
}

/** What the page promises of `/notes`: GET needs `notes.read`, POST needs `notes.write` too. */
async function expectProtected(grantor: Grantor, api: Awaited<ReturnType<typeof describeApi>>): Promise<void> {
  const call = async (method: string, token?: string) => {
    const answer = await fetch(api.resource, { method, headers: token ? { authorization: `Bearer ${token}` } : {} })
    return [answer.status, (await answer.json()) as unknown, answer.headers.get('www-authenticate')] as const
  }
  const metadata = `http://127.0.0.1:${api.port}/.well-known/oauth-protected-resource/notes`
  expect(await (await fetch(metadata)).json()).toMatchObject({
    resource: api.resource,
    authorization_servers: [grantor.authUrl],
    scopes_supported: ['notes.read', 'notes.write'],
  })
  expect(await call('GET')).toMatchObject([401, {}, expect.stringContaining(`resource_metadata="${metadata}"`)])
  const wallet = new Walk(grantor).wallet.address
  const reading = await tokenFor(grantor, api, 'notes.read')
  expect((await call('GET', reading)).slice(0, 2)).toEqual([200, { of: wallet }])
  expect(await call('POST', reading)).toMatchObject([
    403,
    { error: 'insufficient_scope' },
    expect.stringContaining('scope="notes.read notes.write"'),
  ])
  expect((await call('POST', await tokenFor(grantor, api, 'notes.read notes.write'))).slice(0, 2)).toEqual([200, { by: wallet }])
}

test('Fastify: the snippet protects its routes', async ({ grantor }) => {
  const api = await describeApi(grantor, '/notes')
  const { app } = await importSnippet<{ app: FastifyInstance }>('fastify', api)
  await app.listen({ host: '127.0.0.1', port: api.port })
  closing.push(() => app.close())
  await expectProtected(grantor, api)
})

test('Express: the snippet protects its routes', async ({ grantor }) => {
  const api = await describeApi(grantor, '/notes')
  await listen((await importSnippet<{ app: RequestListener }>('express', api)).app, api.port)
  await expectProtected(grantor, api)
})

test('Hono: the snippet protects its routes', async ({ grantor }) => {
  const api = await describeApi(grantor, '/notes')
  const { app } = await importSnippet<{ app: Hono }>('hono', api)
  const listener = getRequestListener(app.fetch)
  await listen((request, response) => void listener(request, response), api.port)
  await expectProtected(grantor, api)
})

test('Next.js: the snippets of the two files are route handlers that protect their route', async ({ grantor }) => {
  const api = await describeApi(grantor, '/notes')
  type Route = Record<string, (request: Request) => Promise<Response>>
  const routes = {
    '/notes': await importSnippet<Route>('next', api),
    '/.well-known/oauth-protected-resource/notes': await importSnippet<Route>('next-metadata', api),
  }
  const listener = getRequestListener(async (request) => {
    const route: Route | undefined = routes[new URL(request.url).pathname as keyof typeof routes]
    return (await route?.[request.method]?.(request)) ?? new Response(null, { status: 404 })
  })
  await listen((request, response) => void listener(request, response), api.port)
  await expectProtected(grantor, api)
})

test.for<[string, string]>([
  ['2.x', 'mcp'],
  ['1.x', 'mcp-1'],
])(
  'MCP SDK %s: a client calls the tools of the snippet, and is asked for the scope of the second one',
  async ([, mark], { grantor }) => {
    const api = await describeApi(grantor, '/mcp')
    await listen((await importSnippet<{ app: RequestListener | Server }>(mark, api)).app, api.port)
    const connect = async (scope: string) => {
      const token = await tokenFor(grantor, api, scope)
      const client = new mcp.Client({ name: 'agent', version: '1.0.0' })
      const authProvider = { token: async () => token }
      await client.connect(new mcp.StreamableHTTPClientTransport(new URL(api.resource), { authProvider }))
      closing.push(() => client.close())
      return client
    }
    const reading = await connect('notes.read')
    const read = await reading.callTool({ name: 'read_note' })
    expect(read.content).toEqual([{ type: 'text', text: `the note of ${new Walk(grantor).wallet.address}` }])
    await expect(reading.callTool({ name: 'clear_note' })).rejects.toThrow(mcp.InsufficientScopeError)
    const cleared = await (await connect('notes.read notes.write')).callTool({ name: 'clear_note' })
    expect(cleared.content).toEqual([{ type: 'text', text: 'cleared' }])
  },
)

test('The commands of the page show the challenge and the metadata of the example, register an API with scopes, and call it', async () => {
  const development = await Development.start()
  closing.push(() => development.stop())
  const [challenge = '', metadata = ''] = (await development.paste(blockWith('guides/protect-an-api.md', 'curl -si'))).split('\n')
  expect(challenge).toMatch(/^www-authenticate: Bearer .*resource_metadata=/i)
  expect(JSON.parse(metadata)).toMatchObject({ authorization_servers: [development.issuer] })
  expect(await development.paste(blockWith('guides/protect-an-api.md', 'resources create'))).toContain(
    'https://api.example.com/notes',
  )

  // The last command of both pages calls the API.
  const check = createTokenCheck({ issuer: development.issuer, audience: 'https://api.example.com/notes' })
  const [port = 0] = await freePorts(1)
  await listen((request, response) => {
    void check(request, { scopes: ['notes.read'] }).then(({ wallet }) => response.end(JSON.stringify({ of: wallet })))
  }, port)
  for (const page of ['guides/protect-an-api.md', 'guides/resource-languages.md']) {
    const command = blockWith(page, 'grantor test-token').replace(/localhost:[38]000/, `127.0.0.1:${port}`)
    expect(JSON.parse(await development.paste(command))).toEqual({ of: TEST_ACCOUNT })
  }
  const values = blockWith('guides/resource-languages.md', 'export ISSUER')
  expect((await development.paste(`${values}\necho "$ISSUER $RESOURCE $CLIENT_ID $CLIENT_SECRET"`)).trim()).toMatch(
    /^http:\/\/localhost:\d+ https:\/\/api\.example\.com\/notes [0-9a-f-]{36} [\w-]{43}$/,
  )
})

test('The lines of the page for a recent sign-in and for scopes that depend on a call refuse what they must', async ({
  grantor,
}) => {
  const api = await describeApi(grantor, '/notes')
  const route = blockWith('guides/protect-an-api.md', "app.post('/transfer'")
  // The client of the page has these two scopes.
  const check = blockWith('guides/protect-an-api.md', 'pay.much').replace("'pay.much' : 'pay'", "'notes.write' : 'notes.read'")
  const described = readFileSync(api.resourceFile, 'utf8')
  writeFileSync(api.resourceFile, described.replace(/now: .*/, 'now: () => globalThis.timeOfThePage,'))
  const setTime = () => Object.assign(globalThis, { timeOfThePage: grantor.clock.now() })
  const module = withPaths(`import Fastify from 'fastify'
import { accessTokenOf, answerRefusals, requireToken } from '@grantor/resource/fastify'
import { resource } from ${JSON.stringify(pathToFileURL(api.resourceFile).href)}
export const app = Fastify()
app.setErrorHandler(answerRefusals(resource))
async function transfer(request) {
  ${check}
  return { paid: request.body.amount }
}
${route}`)
  const path = writeRecipe(`lines.${made++}.mjs`, module)
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from blocks of the page
  const { app } = (await import(pathToFileURL(path).href)) as { app: FastifyInstance }
  closing.push(() => app.close())
  const pay = async (token: string, amount: number) =>
    (await app.inject({ method: 'POST', url: '/transfer', headers: { authorization: `Bearer ${token}` }, payload: { amount } }))
      .statusCode
  setTime()
  const token = await tokenFor(grantor, api, 'notes.read')
  expect([await pay(token, 1), await pay(token, 101)]).toEqual([200, 403])
  grantor.clock.advance(301)
  setTime()
  expect(await pay(token, 1)).toBe(401)
})
