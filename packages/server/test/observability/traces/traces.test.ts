/** The traces of whole flows, as a collector receives them. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { expect, onTestFinished } from 'vitest'
import { traceChainCalls } from '../../../src/app/compose/traced-calls.ts'
import { openTracing } from '../../../src/observability/traces/open-tracing.ts'
import { createChainReader } from '../../../src/outbound/chain/chain-reader.ts'
import { tokensOf } from '../../support/app.ts'
import { type CollectedSpan, type Collector, startCollector } from '../../support/collector.ts'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'
import type { Grantor, StartOptions } from '../../support/start.ts'
import { requestOf } from '../../support/walk.ts'

const test = base
  .extend(
    'collector',
    FILE,
    started(startCollector, (collector) => collector.close()),
  )
  .extend('options', FILE, ({ collector }): StartOptions => ({ tracing: tracingTo(collector) }))

function tracingTo({ url }: Collector, ratio = 1) {
  const headers = { 'x-team': 'login' }
  const nothing = () => undefined
  return openTracing({
    url: `${url}/v1/traces`,
    headers,
    ratio,
    serviceName: 'grantor',
    serviceVersion: '1.2.3',
    count: nothing,
    noteChange: nothing,
    delay: 20,
  })
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

/** The first span that the collector received with these properties. */
async function spanWith(collector: Collector, is: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
  await expect.poll(() => collector.spans.some(is)).toBe(true)
  return collector.spans.find(is) as CollectedSpan
}

/** Waits until the collector has all spans of earlier requests, and forgets them. */
async function forgetEarlier(collector: Collector, { authUrl }: Grantor): Promise<void> {
  const traceId = randomBytes(16).toString('hex')
  await send(authUrl, { path: '/oauth/jwks', headers: { traceparent: `00-${traceId}-${PARENT}-01` } })
  await spanWith(collector, (span) => span.traceId === traceId)
  collector.spans.length = 0
}

const isRoute = (method: string, route: string) => (span: CollectedSpan) => span.name === `${method} ${route}`

test('A refresh is a span of the request with a span of the store below it', async ({ app, grantor, collector }) => {
  const tokens = await app.freshTokens()
  await forgetEarlier(collector, grantor)
  await app.walk.refresh(app.client, tokens.refresh_token)
  const request = await spanWith(collector, isRoute('POST', '/oauth/token'))
  expect(request.facts).toEqual({
    'http.request.method': 'POST',
    'http.route': '/oauth/token',
    'http.response.status_code': 200,
    'grantor.request_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  const call = await spanWith(collector, ({ name }) => name === 'store grants.rotateRefreshToken')
  expect(call).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId, kind: 3 })
  expect(call.facts).toEqual({ 'db.system.name': 'sqlite', 'db.operation.name': 'grants.rotateRefreshToken' })
  expect(collector.headers.at(-1)).toMatchObject({ 'x-team': 'login', 'content-type': 'application/json' })
})

test('The lines of the log of a traced request have the id of the trace, and the spans have the version of the service', async ({
  app,
  grantor,
  collector,
}) => {
  await forgetEarlier(collector, grantor)
  grantor.logLines.length = 0
  await app.walk.refresh(app.client, 'grr.unknown')
  const { traceId, version } = await spanWith(collector, isRoute('POST', '/oauth/token'))
  expect(version).toBe('1.2.3')
  const [line] = grantor.logLines.map((text) => JSON.parse(text) as Record<string, unknown>)
  expect(line).toMatchObject({ msg: 'request', route: '/oauth/token', trace_id: traceId })
})

test('The span of a refused request has the internal reason', async ({ app, grantor, collector }) => {
  await forgetEarlier(collector, grantor)
  await app.walk.refresh(app.client, 'grr.unknown')
  const { facts, status } = await spanWith(collector, isRoute('POST', '/oauth/token'))
  expect(facts).toMatchObject({ 'grantor.refusal': 'refresh_token_unknown', 'http.response.status_code': 400 })
  expect(status.code).not.toBe(2)
})

test('A span has the pattern of the route and never the path or the query of the request', async ({ grantor, collector }) => {
  await forgetEarlier(collector, grantor)
  await send(grantor.authUrl, { path: '/nowhere/secret-in-path?code=secret-in-query' })
  await spanWith(collector, isRoute('GET', 'unmatched'))
  expect(collector.bodies.join()).not.toMatch(/secret-in/)
})

test('Health checks have no span', async ({ grantor, collector }) => {
  await forgetEarlier(collector, grantor)
  await send(grantor.authUrl, { path: '/health/ready' })
  await send(grantor.authUrl, { path: '/.well-known/openid-configuration' })
  await spanWith(collector, isRoute('GET', '/.well-known/openid-configuration'))
  expect(collector.spans.filter(({ name }) => name.includes('/health/') || name.includes('checkWritable'))).toEqual([])
})

test('A valid traceparent is continued, and a request that it marks as not sampled has no span (W3C Trace Context §3.2)', async ({
  grantor,
  collector,
}) => {
  await forgetEarlier(collector, grantor)
  const path = '/.well-known/openid-configuration'
  await send(grantor.authUrl, { path, headers: { traceparent: `00-${TRACE}-${'1'.repeat(16)}-00` } })
  await send(grantor.authUrl, { path, headers: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=secret-state' } })
  expect(await spanWith(collector, isRoute('GET', path))).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
  expect(collector.spans).toHaveLength(1)
  expect(collector.bodies.join()).not.toContain('secret-state')
})

test.for([
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${TRACE}-${PARENT}-01-more`,
  `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  `00-${'a'.repeat(200)}-${PARENT}-01`,
  '',
])('An invalid traceparent begins a new trace: %s', async (traceparent, { grantor, collector }) => {
  await forgetEarlier(collector, grantor)
  await send(grantor.authUrl, { path: '/.well-known/openid-configuration', headers: { traceparent } })
  const span = await spanWith(collector, isRoute('GET', '/.well-known/openid-configuration'))
  expect(span.traceId).not.toBe(TRACE)
  expect(span.parentSpanId ?? '').toBe('')
})

test('The share of traced requests is a setting, and the decision of a traceparent overrules it', async ({ collector }) => {
  collector.spans.length = 0
  const tracing = tracingTo(collector, 0)
  const server = fastify()
  tracing.traceRequests(server)
  server.get('/here', () => 'ok')
  await server.inject({ url: '/here' })
  await server.inject({ url: '/here', headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
  await tracing.stop()
  expect(collector.spans.filter(isRoute('GET', '/here')).map(({ traceId }) => traceId)).toEqual([TRACE])
})

test('A login at the login server and its calls to the auth service are one trace', async ({ app, grantor, collector }) => {
  const challenge = await app.walk.challenge({
    ...requestOf(app.client, { prompt: 'login' }),
  })
  await forgetEarlier(collector, grantor)
  await send(grantor.loginUrl, { path: `/login?login_challenge=${challenge}` })
  const page = await spanWith(collector, isRoute('GET', '/login'))
  const call = await spanWith(collector, ({ name }) => name === 'auth service GET /login/challenge')
  const answered = await spanWith(collector, isRoute('GET', '/login/challenge'))
  expect([call.traceId, answered.traceId]).toEqual([page.traceId, page.traceId])
  expect(answered.parentSpanId).toBe(call.spanId)
  expect(collector.bodies.join()).not.toContain(challenge)
})

test('A refresh whose store cannot be reached is a span with an error', async ({ app, grantor, collector }) => {
  const tokens = await app.freshTokens()
  expect(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).access_token).not.toBe('')
  await forgetEarlier(collector, grantor)
  await grantor.store.close()
  await app.walk.refresh(app.client, tokens.refresh_token)
  const call = await spanWith(collector, ({ name }) => name === 'store grants.rotateRefreshToken')
  expect([call.status.code, call.facts['error.type']]).toEqual([2, 'StoreUnavailable'])
  const { status, facts } = await spanWith(collector, isRoute('POST', '/oauth/token'))
  expect([status.code, facts['grantor.refusal']]).toEqual([2, 'store_unavailable'])
})

test('A call of a chain is a span with the host and the method, and the endpoint gets the traceparent of that span', async ({
  collector,
}) => {
  const received: unknown[] = []
  const endpoint = createServer((request, response) => {
    received.push(request.headers.traceparent)
    response.end('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void endpoint.close())
  const tracing = tracingTo(collector)
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/secret-key-of-the-provider`
  const reader = createChainReader({ url, callWith: traceChainCalls(tracing) })
  const server = fastify()
  tracing.traceRequests(server)
  server.get('/chain', () => reader.chainId())
  await reader.chainId()
  await server.inject({ url: '/chain' })
  await tracing.stop()
  const call = collector.spans.find(({ name }) => name === 'chain eth_chainId')
  expect(received).toEqual([undefined, `00-${call?.traceId}-${call?.spanId}-01`])
  expect(call?.facts).toEqual({ 'server.address': new URL(url).host, 'rpc.method': 'eth_chainId', 'error.type': 'malformed' })
  expect(collector.bodies.join()).not.toContain('secret-key')
})
