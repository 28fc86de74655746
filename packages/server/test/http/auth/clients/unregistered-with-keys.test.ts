/**
 * Clients that no operator registered, and that authenticate with a key: what they can cause at other hosts, at other clients and in the
 * store. Real HTTP servers, some of which never respond, and a fake clock.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { aClientHost } from '../../../support/client-host.ts'
import { newClientKey, post } from '../../../support/client-key.ts'
import { newDpopKey, proofOf } from '../../../support/dpop.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { requestObjectOf } from '../../../support/pushed.ts'
import { type Grantor, type StartOptions, startGrantor } from '../../../support/start.ts'
import { noticeOf, PKCE, Walk } from '../../../support/walk.ts'
import { authenticatedBy, registerWithKeys, SELF_REGISTERED_REDIRECT_URI } from './self-registered.ts'

const key = newClientKey('ES256', 'one')
const JWK_SET = JSON.stringify({ keys: [key.jwk] })

async function start(options: StartOptions = {}): Promise<Grantor> {
  const grantor = await startGrantor({
    clientMetadata: true,
    environment: { GRANTOR_DYNAMIC_REGISTRATION: 'on' },
    trustedProxies: ['127.0.0.1'],
    ...options,
    limits: { registrations: 10_000, ...options.limits },
  })
  onTestFinished(() => grantor.close())
  return grantor
}

/** A server at every address of 127.0.0.0/8, each of which counts as one host; `requests` counts its requests. */
async function aServerWithManyHosts(answer: RequestListener) {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    answer(request, response)
  }).listen(0, '0.0.0.0')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { originOf: (host: number) => `http://127.0.1.${host + 1}:${port}`, requests: () => requests }
}

const neverResponds: RequestListener = () => undefined
const respondsWithKeys: RequestListener = (_, response) => void response.end(JWK_SET)
const from = (network: string) => ({ headers: { 'x-forwarded-for': network } })
const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** The status of an authorization request of a client whose document is at this URL. */
async function statusOfDocument(grantor: Grantor, clientId: string): Promise<number> {
  const query = {
    client_id: clientId,
    redirect_uri: 'http://localhost/callback',
    response_type: 'code',
    scope: 'openid',
    ...PKCE,
  }
  return (await new Walk(grantor).authorize(query)).status
}

test('While the keys of 48 self-registered clients hang, another metadata document loads and a registered client authenticates', async () => {
  const grantor = await start({ limits: { client_fetches: 1000 } })
  const hanging = await aServerWithManyHosts(neverResponds)
  const good = await aClientHost((request, response) => {
    if (request.url === '/jwks.json') return void response.end(JWK_SET)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ client_id: `${good.origin}${request.url}`, redirect_uris: ['http://localhost/callback'] }))
  })
  const registered = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${good.origin}/jwks.json` })
  const ids = await Promise.all(times(48, (n) => registerWithKeys(grantor, `${hanging.originOf(n)}/jwks.json`)))
  const waiting = ids.map((id) => authenticatedBy(grantor, id, key))
  await expect.poll(hanging.requests).toBeGreaterThanOrEqual(32)
  expect(await statusOfDocument(grantor, `${good.origin}/client.json`)).toBe(302)
  expect((await authenticatedBy(grantor, registered.id, key)).status).toBe(200)
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([503]))
})

test('While one host with the keys of 48 self-registered clients hangs, the keys of another self-registered client load', async () => {
  const grantor = await start({ limits: { client_fetches: 1000 } })
  const [hanging, good] = [await aClientHost(neverResponds), await aClientHost(respondsWithKeys)]
  const ids = await Promise.all(times(48, (n) => registerWithKeys(grantor, `${hanging.origin}/${n}`)))
  const waiting = ids.map((id) => authenticatedBy(grantor, id, key))
  const other = await registerWithKeys(grantor, `${good.origin.replace('localhost', '127.0.0.1')}/jwks.json`)
  expect((await authenticatedBy(grantor, other, key)).status).toBe(200)
  const answers = await Promise.all(waiting)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  expect(hanging.requests.length, 'calls to one host at once').toBe(4)
})

test('While one host with 48 metadata documents hangs, a document of another host loads', async () => {
  const grantor = await start({ limits: { client_fetches: 1000 } })
  const hanging = await aClientHost(neverResponds)
  const good = await aClientHost((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ client_id: id, redirect_uris: ['http://localhost/callback'] }))
  })
  const id = `${good.origin.replace('localhost', '127.0.0.1')}/client.json`
  const waiting = times(48, (n) => statusOfDocument(grantor, `${hanging.origin}/${n}.json`))
  expect(await statusOfDocument(grantor, id)).toBe(302)
  await Promise.all(waiting)
})

test('The keys of 1,010 self-registered clients never evict the keys of a registered client', async () => {
  const grantor = await start({ limits: { client_fetches: 10_000, host_fetches: 10_000 } })
  const host = await aClientHost(respondsWithKeys)
  const registered = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${host.origin}/registered.json` })
  expect((await authenticatedBy(grantor, registered.id, key)).status).toBe(200)
  for (let n = 0; n < 1010; n++) {
    const id = await registerWithKeys(grantor, `${host.origin}/${n}`)
    expect((await authenticatedBy(grantor, id, key, from(`10.0.${n % 250}.1`))).status).toBe(200)
  }
  host.answer = (_, response) => void response.writeHead(500).end()
  expect((await authenticatedBy(grantor, registered.id, key)).status).toBe(200)
  expect(host.requests.filter(({ path }) => path === '/registered.json')).toHaveLength(1)
})

test('60 self-registered clients cause at most 30 fetches of keys a minute from one network, and then get 429', async () => {
  const grantor = await start()
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(60, (n) => registerWithKeys(grantor, `${host.origin}/${n}`)))
  const statuses = []
  for (const id of ids) statuses.push((await authenticatedBy(grantor, id, key)).status)
  expect(statuses).toEqual([...Array(30).fill(200), ...Array(30).fill(429)])
  expect(host.requests).toHaveLength(30)
  expect((await authenticatedBy(grantor, ids[0] ?? '', key)).status, 'keys in memory need no fetch').toBe(200)
  const elsewhere = await authenticatedBy(grantor, ids[59] ?? '', key, from('203.0.113.9'))
  expect(elsewhere.status, 'another network has its own budget').toBe(200)
})

test('Fetches of documents and of keys count towards one budget of the network', async () => {
  const grantor = await start({ limits: { client_fetches: 2 } })
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(3, (n) => registerWithKeys(grantor, `${host.origin}/${n}`)))
  expect((await authenticatedBy(grantor, ids[0] ?? '', key)).status).toBe(200)
  expect((await authenticatedBy(grantor, ids[1] ?? '', key)).status).toBe(200)
  expect(await statusOfDocument(grantor, `${host.origin}/client.json`)).toBe(429)
  expect(host.requests).toHaveLength(2)
})

test('All networks together cause a limited number of fetches a minute at one host, and then get 503', async () => {
  const grantor = await start({ limits: { host_fetches: 5 } })
  const [host, other] = [await aClientHost(respondsWithKeys), await aServerWithManyHosts(respondsWithKeys)]
  const ids = await Promise.all(times(8, (n) => registerWithKeys(grantor, `${host.origin}/${n}`)))
  const answers = []
  for (const [n, id] of ids.entries()) answers.push(await authenticatedBy(grantor, id, key, from(`203.0.113.${n}`)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 503, 503, 503])
  expect(answers.at(-1)?.headers['retry-after']).toBe('60')
  expect(host.requests).toHaveLength(5)
  const elsewhere = await registerWithKeys(grantor, `${other.originOf(0)}/jwks.json`)
  expect((await authenticatedBy(grantor, elsewhere, key)).status).toBe(200)
})

test('Self-registered clients with one jwks_uri share one fetch', async () => {
  const grantor = await start()
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(60, () => registerWithKeys(grantor, `${host.origin}/jwks.json`)))
  for (const id of ids) expect((await authenticatedBy(grantor, id, key)).status).toBe(200)
  expect(host.requests).toHaveLength(1)
})

test('Keys in memory count for an hour if the budget of the network is used up', async () => {
  const grantor = await start({ limits: { client_fetches: 1 } })
  const host = await aClientHost(respondsWithKeys)
  const [id = '', other = ''] = await Promise.all(times(2, (n) => registerWithKeys(grantor, `${host.origin}/${n}`)))
  expect((await authenticatedBy(grantor, id, key)).status).toBe(200)
  grantor.clock.advance(61)
  expect((await authenticatedBy(grantor, other, key)).status).toBe(200)
  grantor.clock.advance(301)
  expect((await authenticatedBy(grantor, other, key)).status).toBe(200)
  expect((await authenticatedBy(grantor, id, key)).status).toBe(200)
  expect(host.requests).toHaveLength(3)
})

test.each(['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/par', '/oauth/device_authorization'])(
  'If the keys of a client cannot be fetched, %s responds with 503 and Retry-After, and not with 401',
  async (path) => {
    const grantor = await start()
    const host = await aClientHost((_, response) => void response.writeHead(500).end())
    const registered = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${host.origin}/registered` })
    for (const id of [registered.id, await registerWithKeys(grantor, `${host.origin}/unregistered`)]) {
      const answer = await authenticatedBy(grantor, id, key, { path })
      expect(answer.status).toBe(503)
      expect(answer.headers['retry-after']).toBe('60')
      expect(answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
    }
  },
)

test('A request object whose keys cannot be fetched is answered with temporarily_unavailable (RFC 6749 §4.1.2.1), and with a page of status 503 if no redirect URI is known', async () => {
  const grantor = await start()
  const host = await aClientHost((_, response) => void response.writeHead(500).end())
  const client = await grantor.createClient({ jwksUri: `${host.origin}/jwks.json` })
  const walk = new Walk(grantor)
  const request = await requestObjectOf(grantor, client, key)
  const redirected = await walk.authorize({ client_id: client.id, redirect_uri: client.redirectUris[0] ?? '', request })
  expect(redirected.location).toContain('error=temporarily_unavailable')
  const shown = await walk.authorize({ client_id: client.id, request })
  expect(shown.status).toBe(503)
  expect(shown.headers['retry-after']).toBe('60')
  expect(noticeOf(shown)).toBe('client_unavailable')
})

const pushBody = { redirect_uri: SELF_REGISTERED_REDIRECT_URI, response_type: 'code', scope: 'openid', ...PKCE }
const pushes = { path: '/oauth/par', body: pushBody }

test('The pushed requests of all unregistered clients of a network stop at its limit, whether or not they authenticate with a key', async () => {
  const grantor = await start()
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(3, () => registerWithKeys(grantor, `${host.origin}/jwks.json`)))
  const statuses = []
  for (let n = 0; n < 150; n++) statuses.push((await authenticatedBy(grantor, ids[n % 3] ?? '', key, pushes)).status)
  expect(statuses).toEqual([...Array(60).fill(201), ...Array(90).fill(429)])
  expect((await grantor.rows()).pushed_requests).toHaveLength(60)
  const elsewhere = await authenticatedBy(grantor, ids[0] ?? '', key, { ...pushes, ...from('203.0.113.9') })
  expect(elsewhere.status, 'another network has its own limit').toBe(201)
})

test('The client assertions of all unregistered clients of a network stop at its limit, before a row is stored, and those of registered clients do not', async () => {
  const grantor = await start({ limits: { uses: 5 } })
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(2, () => registerWithKeys(grantor, `${host.origin}/jwks.json`)))
  const answers = []
  for (let n = 0; n < 8; n++) answers.push(await authenticatedBy(grantor, ids[n % 2] ?? '', key))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
  expect(answers.at(-1)?.headers['retry-after']).toBe('60')
  expect((await grantor.rows()).spent).toHaveLength(5)
  expect((await authenticatedBy(grantor, ids[0] ?? '', key, from('203.0.113.9'))).status).toBe(200)
  const registered = await grantor.createClient({ authMethod: 'private_key_jwt', jwks: { keys: [key.jwk] } })
  for (let n = 0; n < 8; n++) expect((await authenticatedBy(grantor, registered.id, key)).status).toBe(200)
})

test('The DPoP proofs of unregistered clients of a network count towards the limit of their assertions, before a row is stored', async () => {
  const grantor = await start({ limits: { uses: 2 } })
  const host = await aClientHost((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ client_id: `${host.origin}${request.url}`, redirect_uris: [SELF_REGISTERED_REDIRECT_URI] }))
  })
  const pushWithProof = async (clientId: string) => {
    const dpop = await proofOf(grantor, newDpopKey(), { htu: `${grantor.authUrl}/oauth/par` })
    return (await post(grantor, '/oauth/par', { client_id: clientId, ...pushBody }, { dpop })).status
  }
  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push(await pushWithProof(`${host.origin}/${n}.json`))
  expect(statuses).toEqual([201, 201, 429, 429])
  expect((await grantor.rows()).spent).toHaveLength(2)
  const registered = await grantor.createClient({
    type: 'public',
    redirectUris: [SELF_REGISTERED_REDIRECT_URI],
    scopes: ['openid'],
  })
  expect(await pushWithProof(registered.id)).toBe(201)
})

test('Failures of all unregistered clients of a network count towards one limit, so that further ids give no further attempts', async () => {
  const grantor = await start({ failureLimit: 5 })
  const host = await aClientHost(respondsWithKeys)
  const stranger = newClientKey('ES256', 'one')
  const ids = await Promise.all(times(8, () => registerWithKeys(grantor, `${host.origin}/jwks.json`)))
  const statuses = []
  for (const id of ids) statuses.push((await authenticatedBy(grantor, id, stranger)).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
  expect((await authenticatedBy(grantor, ids[0] ?? '', key)).status, 'a correct assertion is accepted').toBe(200)
})

test('On PostgreSQL too, pushed requests and client assertions of unregistered clients stop at the limits of the network before a row is stored', async () => {
  const database = await createPostgresDatabase()
  onTestFinished(() => database.drop())
  const grantor = await start({ postgres: database.address, limits: { pushes: 3, uses: 6 } })
  const host = await aClientHost(respondsWithKeys)
  const ids = await Promise.all(times(2, () => registerWithKeys(grantor, `${host.origin}/jwks.json`)))
  const statuses = []
  for (let n = 0; n < 5; n++) statuses.push((await authenticatedBy(grantor, ids[n % 2] ?? '', key, pushes)).status)
  for (let n = 0; n < 3; n++) statuses.push((await authenticatedBy(grantor, ids[n % 2] ?? '', key)).status)
  expect(statuses).toEqual([201, 201, 201, 429, 429, 200, 429, 429])
  const [rows] =
    await database.sql`SELECT (SELECT count(*) FROM pushed_requests) AS pushed, (SELECT count(*) FROM spent) AS spent`
  expect(rows).toEqual({ pushed: 3, spent: 6 })
})
