/** Clients that publish their keys: what is fetched, how often, and on whose behalf. Real servers; the clock is the test's. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ClientHost, startClientHost } from '../support/client-host.ts'
import { asserting, assertionOf, newClientKey, oldRsaKeys, post, type TestKey } from '../support/client-key.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'

let grantor: Grantor
let host: ClientHost
let client: TestClient
const key = newClientKey('ES256', 'one')
const next = newClientKey('ES256', 'two')

const publishing = (...keys: TestKey[]): ClientHost['answer'] => {
  return (_, response) => response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
}

beforeAll(async () => {
  grantor = await startGrantor()
  host = await startClientHost(publishing(key))
})
afterAll(async () => {
  await grantor.close()
  await host.close()
})
beforeEach(async () => {
  host.answer = publishing(key)
  host.requests.length = 0
  client = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${host.origin}/jwks.json` })
})

/** The status of a request that an assertion by this key comes with; 200 where it was believed. */
async function statusBy(by: TestKey, of = client): Promise<number> {
  return (await post(grantor, '/oauth/revoke', { token: 'unknown', ...asserting(await assertionOf(grantor, of.id, by)) })).status
}

const refusedWhy = () => grantor.events.at(-1)?.reason

test('keys are fetched when they are first needed, and kept for five minutes (RFC 7591 §2)', async () => {
  expect(host.requests).toEqual([])
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(299)
  expect(await statusBy(key)).toBe(200)
  expect(host.requests).toHaveLength(1)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(200)
  expect(host.requests).toHaveLength(2)
})

test('a client may change its keys by itself: a key that is not known yet is looked for at once', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(60)
  host.answer = publishing(next)
  expect(await statusBy(next)).toBe(200)
  expect(await statusBy(key), 'and the one that is published no more is over').toBe(401)
  expect(host.requests).toHaveLength(2)
})

test('a key put in place of another under the same kid is found as well', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(60)
  const sameName = newClientKey('ES256', 'one')
  host.answer = publishing(sameName)
  expect(await statusBy(sameName)).toBe(200)
})

test('whoever names a client can make us fetch its keys once a minute and no more', async () => {
  const stranger = newClientKey('ES256', 'unheard-of')
  for (let second = 0; second < 60; second += 10) {
    await Promise.all(Array.from({ length: 10 }, () => statusBy(stranger)))
    grantor.clock.advance(10)
  }
  expect(host.requests).toHaveLength(1)
  expect(await statusBy(stranger)).toBe(401)
  expect(host.requests).toHaveLength(2)
})

test('nor where the fetch fails: the next one is a minute later, and the client itself is served again then', async () => {
  host.answer = (_, response) => response.writeHead(500).end()
  expect(await statusBy(key)).toBe(401)
  expect(refusedWhy()).toBe('client_keys_unavailable')
  host.answer = publishing(key)
  grantor.clock.advance(59)
  expect(await statusBy(key)).toBe(401)
  expect(host.requests).toHaveLength(1)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(200)
})

test('fifty requests at once share one fetch', async () => {
  host.answer = (request, response) => {
    setTimeout(() => publishing(key)(request, response), 50)
  }
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => statusBy(key))))).toEqual(new Set([200]))
  expect(host.requests).toHaveLength(1)
})

test('while its keys cannot be fetched those of before count for an hour, and then no more', async () => {
  expect(await statusBy(key)).toBe(200)
  host.answer = (request) => request.socket.destroy()
  grantor.clock.advance(3599)
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(401)
  expect(refusedWhy()).toBe('client_keys_unavailable')
})

test.each<[string, ClientHost['answer']]>([
  ['no JSON', (_, response) => response.end('<html>')],
  ['no JWK Set', (_, response) => response.end('[]')],
  ['another status', (_, response) => response.writeHead(404).end(JSON.stringify({ keys: [key.jwk] }))],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['too much', (_, response) => response.end(JSON.stringify({ keys: [key.jwk], padding: 'x'.repeat(70_000) }))],
])('an answer that is %s holds no keys', async (_, answer) => {
  host.answer = answer
  expect(await statusBy(key)).toBe(401)
  expect(refusedWhy()).toBe('client_keys_unavailable')
  expect(host.requests).toHaveLength(1)
})

test('a set without the client’s key, and an empty one, let nobody in', async () => {
  host.answer = publishing()
  expect(await statusBy(key)).toBe(401)
  expect(refusedWhy()).toBe('assertion_signature_wrong')
})

test.each(Object.entries(oldRsaKeys()))('a published RSA key %s is not taken, and the log says so', async (_, own) => {
  host.answer = publishing(key, own)
  expect(await statusBy(own)).toBe(401)
  expect(refusedWhy()).toBe('client_key_unusable')
  expect(await statusBy(key)).toBe(200)
})

test('each client has keys of its own, though they share an address, and a new address is asked anew', async () => {
  const other = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${host.origin}/other.json` })
  host.answer = (request, response) => publishing(request.url === '/other.json' ? next : key)(request, response)
  expect([await statusBy(key), await statusBy(next, other), await statusBy(key, other)]).toEqual([200, 200, 401])
  const { secret: _, ...record } = client
  await grantor.store.clients.replaceClient({ ...record, jwksUri: `${host.origin}/other.json` })
  await grantor.noticeChanges()
  expect([await statusBy(key), await statusBy(next)]).toEqual([401, 200])
})

test('nothing is fetched for an assertion that is refused anyway, nor for a client that nobody registered', async () => {
  const bad = [{ aud: 'https://elsewhere.example.com' }, { exp: 1 }, { jti: undefined }, { iss: 'x', sub: 'x' }]
  for (const claims of bad) {
    const text = await assertionOf(grantor, client.id, key, claims)
    expect((await post(grantor, '/oauth/revoke', { token: 'unknown', ...asserting(text) })).status).toBe(401)
  }
  expect(host.requests).toEqual([])
})

test('a clock that jumps back an hour locks nobody out for long', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(-7200)
  expect(await statusBy(key)).toBe(200)
})
