/** The blocks of docs/guides/connect-package.md, each with the client library that the block is for. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Auth, type AuthConfig } from '@auth/core'
// @ts-expect-error -- Express publishes no types
import express from 'express'
import { expect } from 'vitest'
import { downloadProject, makeProject } from '../../../connect/test/package.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { Walk } from '../support/walk.ts'
import { recipeOf, register } from './recipe.ts'
import { Visitor } from './visitor.ts'

const test = base.extend(
  'project',
  FILE,
  started(
    async () => makeProject(['express', 'express-session', 'passport', 'passport-oauth2']),
    (project) => project.remove(),
  ),
)
type Project = ReturnType<typeof makeProject>

/** The libraries that `npm ci` does not install. */
const testDownloads = test.skipIf(process.env.TEST_CLIENTS !== '1')

/** Imports a block, in a folder with the packages that it imports. */
async function importBlock<Exports>({ folder }: Project, mark: string, environment: Record<string, string>): Promise<Exports> {
  Object.assign(process.env, environment)
  const path = join(folder, `${mark}.mjs`)
  writeFileSync(path, recipeOf('js', mark, 'connect-package'))
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  return (await import(pathToFileURL(path).href)) as Exports
}

/** Imports a module of a package that only the project has. */
async function importFrom<Exports>({ folder }: Project, path: string): Promise<Exports> {
  // oxlint-disable-next-line import/no-dynamic-require -- the package is in a folder of this test
  return (await import(pathToFileURL(join(folder, 'node_modules', path)).href)) as Exports
}

const queryOf = (to: string) => new URL(to).search.slice(1)

async function listen(app: RequestListener, port: number) {
  const server = createServer(app).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test('The registration for a page makes a public client, which has no secret', async ({ grantor }) => {
  const client = await register(grantor, 'react', {}, 'connect-package')
  expect(client).toMatchObject({ type: 'public', client_secret: null })
})

test('An app with Auth.js and the provider of the package signs in, and has the wallet in its session', async ({
  grantor,
  project,
}) => {
  const client = await register(grantor, 'authjs', {}, 'connect-package')
  const { config } = await importBlock<{ config: AuthConfig }>(project, 'authjs', {
    ISSUER: grantor.authUrl,
    CLIENT_ID: client.client_id,
    CLIENT_SECRET: client.client_secret,
  })
  const options = { ...config, secret: 'a secret of this test', trustHost: true, basePath: '/auth' }
  const visitor = new Visitor((request) => Auth(request, options))
  const auth = 'https://app.example.net/auth'
  const { csrfToken } = JSON.parse((await visitor.visit(`${auth}/csrf`)).body) as Record<string, string>
  const walk = new Walk(grantor)
  const { to } = await visitor.visit(`${auth}/signin/grantor`, { csrfToken: csrfToken ?? '', callbackUrl: '/private' })
  expect(new URL(to).searchParams.get('code_challenge_method')).toBe('S256')
  const { to: responseUrl } = await walk.signIn(queryOf(to))
  expect((await visitor.visit(responseUrl)).to).toBe('https://app.example.net/private')
  expect(JSON.parse((await visitor.visit(`${auth}/session`)).body)).toMatchObject({ user: { wallet: walk.wallet.address } })
})

test('An app with passport-oauth2 and the strategy of the package signs in, and refuses a response with another iss (RFC 9207)', async ({
  grantor,
  project,
}) => {
  const [port = 0] = await freePorts(1)
  const appUrl = `http://localhost:${port}`
  const client = await register(grantor, 'passport', { 'https://app.example.net': appUrl }, 'connect-package')
  const { app } = await importBlock<{ app: RequestListener }>(project, 'passport', {
    ISSUER: grantor.authUrl,
    CLIENT_ID: client.client_id,
    CLIENT_SECRET: client.client_secret,
    APP_URL: appUrl,
    SESSION_SECRET: 'a session secret of this test',
  })
  const server = await listen(app, port)
  const visitor = new Visitor()
  const walk = new Walk(grantor)
  const { to: responseUrl } = await walk.signIn(queryOf((await visitor.visit(`${appUrl}/login`)).to))
  const foreign = new URL(responseUrl)
  foreign.searchParams.set('iss', 'https://other.example')
  expect((await visitor.visit(foreign.href)).to).toBe(`${appUrl}/`)
  expect((await visitor.visit(responseUrl)).to).toBe(`${appUrl}/me`)
  expect(JSON.parse((await visitor.visit(`${appUrl}/me`)).body)).toEqual({ wallet: walk.wallet.address })
  server.close()
})

type NextAuthHandler = (request: object, reply: ServerResponse, options: object) => Promise<void>
type Asked = IncomingMessage & { path: string; query: object; body: unknown }
const { urlencoded } = express as { urlencoded: () => unknown }
const createApp = express as () => RequestListener & { use(...handlers: unknown[]): void }

testDownloads.for(['nextauth', 'nextauth-by-hand'])(
  'An app with NextAuth.js 4 and the block %s signs in, and has the wallet in its session',
  async (mark, { grantor }) => {
    const project = downloadProject(['next-auth@4.24.15'])
    const [port = 0] = await freePorts(1)
    const appUrl = `http://localhost:${port}`
    const client = await register(grantor, 'nextauth', { 'https://app.example.net': appUrl }, 'connect-package')
    const { authOptions } = await importBlock<{ authOptions: object }>(project, mark, {
      ISSUER: grantor.authUrl,
      CLIENT_ID: client.client_id,
      CLIENT_SECRET: client.client_secret,
      NEXTAUTH_URL: appUrl,
    })
    const { default: nextAuth } = createRequire(join(project.folder, 'package.json'))('next-auth') as { default: NextAuthHandler }
    const app = createApp()
    app.use(urlencoded())
    app.use('/api/auth', ({ method, headers, path, query, body }: Asked, reply: ServerResponse) => {
      const cookies = Object.fromEntries((headers.cookie ?? '').split('; ').map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
      const decoded = Object.fromEntries(
        Object.entries(cookies).map(([name, value = '']) => [name, decodeURIComponent(String(value))]),
      )
      const request = {
        method,
        headers,
        body,
        cookies: decoded,
        query: { ...query, nextauth: path.slice(1).split('/') },
      }
      return nextAuth(request, reply, { ...authOptions, secret: 'a secret of this test' })
    })
    const server = await listen(app, port)
    const visitor = new Visitor()
    const auth = `${appUrl}/api/auth`
    const { csrfToken } = JSON.parse((await visitor.visit(`${auth}/csrf`)).body) as Record<string, string>
    const walk = new Walk(grantor)
    const { to } = await visitor.visit(`${auth}/signin/grantor`, { csrfToken: csrfToken ?? '', callbackUrl: `${appUrl}/private` })
    const { to: responseUrl } = await walk.signIn(queryOf(to))
    expect((await visitor.visit(responseUrl)).to).toBe(`${appUrl}/private`)
    expect(JSON.parse((await visitor.visit(`${auth}/session`)).body)).toMatchObject({ user: { wallet: walk.wallet.address } })
    server.close()
  },
)

type BetterAuth = (options: object) => { handler(request: Request): Promise<Response> }
type Memory = Record<'user' | 'session' | 'account' | 'verification', Record<string, unknown>[]>

/** A form as the JSON that the script of a page sends. */
async function withJson(request: Request): Promise<Request> {
  if (request.method !== 'POST') return request
  const headers = new Headers(request.headers)
  headers.set('content-type', 'application/json')
  headers.set('origin', new URL(request.url).origin)
  return new Request(request.url, {
    method: 'POST',
    headers,
    body: JSON.stringify(Object.fromEntries(new URLSearchParams(await request.text()))),
  })
}

testDownloads.for(['better-auth', 'better-auth-by-hand'])(
  'An app with Better Auth and the block %s signs in twice as one user, whose account is the wallet',
  async (mark, { grantor }) => {
    const project = downloadProject(['better-auth@1.7.25'])
    const client = await register(grantor, 'better-auth', {}, 'connect-package')
    const { plugins } = await importBlock<{ plugins: unknown[] }>(project, mark, {
      ISSUER: grantor.authUrl,
      CLIENT_ID: client.client_id,
      CLIENT_SECRET: client.client_secret,
    })
    const { betterAuth } = await importFrom<{ betterAuth: BetterAuth }>(project, 'better-auth/dist/index.mjs')
    const { memoryAdapter } = await importFrom<{ memoryAdapter: (memory: Memory) => unknown }>(
      project,
      'better-auth/dist/adapters/memory-adapter/index.mjs',
    )
    const memory: Memory = { user: [], session: [], account: [], verification: [] }
    const secret = 'a secret of this test that is long enough'
    const baseURL = 'https://app.example.net'
    const app = betterAuth({ baseURL, secret, database: memoryAdapter(memory), plugins })
    for (let time = 0; time < 2; time++) {
      const walk = new Walk(grantor)
      const visitor = new Visitor(async (request) => app.handler(await withJson(request)))
      const begun = await visitor.visit(`${baseURL}/api/auth/sign-in/social`, { provider: 'grantor', callbackURL: '/private' })
      const { url } = JSON.parse(begun.body) as { url: string }
      const { to: responseUrl } = await walk.signIn(queryOf(url))
      expect((await visitor.visit(responseUrl)).to).toBe(`${baseURL}/private`)
      const session = JSON.parse((await visitor.visit(`${baseURL}/api/auth/get-session`)).body) as { user: object }
      expect(session.user).toMatchObject({ name: walk.wallet.address, email: expect.stringMatching(/@wallet\.invalid$/) })
    }
    expect(memory.user).toHaveLength(1)
    expect(memory.account).toMatchObject([{ providerId: 'grantor', accountId: new Walk(grantor).wallet.address }])
  },
)
