/**
 * A refresh token is revoked at one node. APIs behind the same balancer refuse the access tokens of its grant, without a request for a call: three
 * nodes as `grantor serve` composes them on one PostgreSQL database, and an API in each framework, in real time.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createProtectedResource, type ProtectedResource } from '@grantor/resource'
import * as forExpress from '@grantor/resource/express'
import * as forFastify from '@grantor/resource/fastify'
import * as forHono from '@grantor/resource/hono'
import { getRequestListener } from '@hono/node-server'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { listening } from '../../../resource/test/listening.ts'
import { composeAuthService } from '../../src/app/compose/compose.ts'
import { readSettings } from '../../src/config/settings.ts'
import { createLogger } from '../../src/observability/log/logger.ts'
import { run } from '../app/run.ts'
import { tokensOf } from '../support/app.ts'
import { startBalancer } from '../support/balancer.ts'
import { freePorts } from '../support/free-ports.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { type Grantor, TEST_LOGIN_SECRET, TEST_SECRET, type TestClient } from '../support/start.ts'
import { parameterOf, requestOf, Walk } from '../support/walk.ts'

const now = () => Math.floor(Date.now() / 1000)
const REDIRECT_URI = 'https://app.example.net/callback'
const RESOURCE = 'https://api.example.com/notes'

type Api = { url: string; close: () => Promise<unknown> }
type Handler = (request: IncomingMessage, response: ServerResponse & { json(body: unknown): void }) => void
type ExpressApp = RequestListener & {
  get(path: string, before: forExpress.Middleware, handler: Handler): void
  use(...handlers: unknown[]): void
}

const frameworks: Record<string, (resource: ProtectedResource) => Promise<Api>> = {
  async Express(resource) {
    const app = (express as () => ExpressApp)()
    app.get('/notes', forExpress.requireToken(resource), (request, response) => {
      response.json({ wallet: forExpress.accessTokenOf(request).wallet })
    })
    app.use(forExpress.answerRefusals(resource))
    return listening(app)
  },
  async Fastify(resource) {
    const app = Fastify()
    app.setErrorHandler(forFastify.answerRefusals(resource))
    const onRequest = forFastify.requireToken(resource)
    app.get('/notes', { onRequest }, async (request) => ({ wallet: forFastify.accessTokenOf(request).wallet }))
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    return { url, close: () => app.close() }
  },
  async Hono(resource) {
    const app = new Hono()
    app.get('/notes', forHono.requireToken(resource), (context) =>
      context.json({ wallet: forHono.accessTokenOf(context).wallet }),
    )
    app.onError(forHono.answerRefusals(resource))
    return listening(getRequestListener(app.fetch))
  },
}

test('Revoking a refresh token makes every API refuse the access tokens of the grant, while no API sends a request for a call (RFC 7009 §2.1)', async () => {
  const { env, walk, client, register } = await startService()
  const sent: string[] = []
  const listenedTo: typeof fetch = (input, init) => {
    sent.push(new URL(new Request(input).url).pathname)
    return fetch(input, init)
  }
  const apis = await Promise.all(
    Object.entries(frameworks).map(async ([name, start]) => {
      const api = await register('--name', name, '--resource-server', RESOURCE)
      const resource = createProtectedResource({
        issuer: env.GRANTOR_AUTH_URL ?? '',
        resource: RESOURCE,
        introspection: { clientId: api.id, clientSecret: api.secret },
        check: 'feed',
        // A busy machine may deliver the feed late.
        feed: { maxAge: 30 },
        fetch: listenedTo,
      })
      const running = await start(resource)
      onTestFinished(async () => {
        resource.check.close()
        await running.close()
      })
      await resource.check.ready()
      return running.url
    }),
  )
  const [one, other] = [await freshTokens(walk, client), await freshTokens(walk, client)]
  const statuses = (token: string) =>
    Promise.all(apis.map(async (url) => (await fetch(`${url}/notes`, { headers: { authorization: `Bearer ${token}` } })).status))
  expect(await statuses(one.access_token)).toEqual([200, 200, 200])

  expect((await walk.revoke(client, one.refresh_token)).status).toBe(200)
  await expect.poll(() => statuses(one.access_token)).toEqual([401, 401, 401])
  expect(await statuses(other.access_token)).toEqual([200, 200, 200])
  expect(sent.filter((path) => path.endsWith('/introspect'))).toEqual([])
})

async function freshTokens(walk: Walk, client: TestClient) {
  const { location } = await walk.authorize({ ...requestOf(client), resource: RESOURCE })
  return tokensOf(await walk.exchange(client, parameterOf(location, 'code'), { resource: RESOURCE }))
}

/** Three nodes behind a balancer, and a client that has signed in a user. */
async function startService() {
  const { url, drop } = await createPostgresDatabase()
  onTestFinished(drop)
  const ports = await freePorts(3)
  const balancer = await startBalancer(ports, 50)
  onTestFinished(() => balancer.close())
  const env: Record<string, string> = {
    GRANTOR_AUTH_URL: balancer.url,
    GRANTOR_LOGIN_URL: 'http://login.localhost:4001',
    GRANTOR_DATABASE_URL: url,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
  }
  await run(['migrate'], env, now())
  const create = async (...words: string[]): Promise<TestClient> => {
    const { out } = await run(['clients', 'create', '--json', ...words], env, now())
    const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
    return { id, secret, redirectUris: [REDIRECT_URI] } as TestClient
  }
  const client = await create('--name', 'App', '--redirect-uri', REDIRECT_URI, '--resource', RESOURCE)
  for (const port of ports) await startNode(env, port)
  await Promise.all(ports.map((port) => balancer.until(port, 'in')))
  const walk = new Walk({ authUrl: balancer.url } as Grantor)
  await walk.signIn({ ...requestOf(client), resource: RESOURCE })
  return { env, walk, client, register: create }
}

async function startNode(env: Record<string, string>, port: number): Promise<void> {
  const reading = readSettings('serve', env)
  if (reading.kind === 'faults') throw new Error(reading.faults.join(' '))
  const service = await composeAuthService(reading.settings, { logger: createLogger({ level: 'silent' }), now })
  await service.server.listen({ host: '127.0.0.1', port })
  onTestFinished(async () => {
    await service.server.close()
    await service.close()
  })
}
