/** Clients that publish their keys at a jwks_uri: when and how often the keys are fetched. Real HTTP servers, a fake clock. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createMetrics } from '../../../../src/observability/metrics/metrics.ts'
import { type ClientHost, startClientHost } from '../../../support/client-host.ts'
import { asserting, assertionOf, newClientKey, oldRsaKeys, post, type TestKey } from '../../../support/client-key.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'

let grantor: Grantor
let host: ClientHost
let client: TestClient
let count = 0
const metrics = createMetrics()
const key = newClientKey('ES256', 'one')
const nextKey = newClientKey('ES256', 'two')

const answerWithKeys = (...keys: TestKey[]): ClientHost['answer'] => {
  return (_, response) => response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
}

beforeAll(async () => {
  grantor = await startGrantor({ metrics })
  host = await startClientHost(answerWithKeys(key))
})
afterAll(async () => {
  await grantor.close()
  await host.close()
})
beforeEach(async () => {
  host.answer = answerWithKeys(key)
  host.requests.length = 0
  client = await grantor.createClient({
    authMethod: 'private_key_jwt', // An address that no other test uses: clients with one address share the cached keys.
    jwksUri: `${host.origin}/jwks-${++count}.json`,
  })
})

/** The status of a request with a client assertion of this key: 200 if the assertion was accepted. */
async function statusBy(by: TestKey, of = client): Promise<number> {
  return (await post(grantor, '/oauth/revoke', { token: 'unknown', ...asserting(await assertionOf(grantor, of.id, by)) })).status
}

const lastReason = () => grantor.events.at(-1)?.reason

test('The keys of a jwks_uri are fetched at the first client authentication and cached for five minutes (RFC 7591 §2)', async () => {
  expect(host.requests).toEqual([])
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(299)
  expect(await statusBy(key)).toBe(200)
  expect(host.requests).toHaveLength(1)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(200)
  expect(host.requests).toHaveLength(2)
})

test('A new key at a client’s jwks_uri is fetched when an assertion uses the key, and a removed key is refused', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(60)
  host.answer = answerWithKeys(nextKey)
  expect(await statusBy(nextKey)).toBe(200)
  expect(await statusBy(key), 'a key that is no longer published is refused').toBe(401)
  expect(host.requests, 'the unknown kid caused an early fetch').toHaveLength(3)
})

test('A new key at a client’s jwks_uri with the kid of an earlier key is fetched and accepted', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(60)
  const sameName = newClientKey('ES256', 'one')
  host.answer = answerWithKeys(sameName)
  expect(await statusBy(sameName)).toBe(200)
})

test('A new key at a client’s jwks_uri is accepted at once, by one early fetch a minute for an unknown kid', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(1)
  host.answer = answerWithKeys(key, nextKey)
  expect(await statusBy(nextKey)).toBe(200)
  expect(host.requests).toHaveLength(2)
  const third = newClientKey('ES256', 'three')
  host.answer = answerWithKeys(key, nextKey, third)
  expect(await statusBy(third), 'the early fetch of this minute is used up').toBe(401)
  grantor.clock.advance(60)
  expect(await statusBy(third)).toBe(200)
  expect(host.requests).toHaveLength(3)
})

test('A wrong signature with a known kid causes no early fetch of a client’s jwks_uri', async () => {
  expect(await statusBy(key)).toBe(200)
  for (let n = 0; n < 5; n++) expect(await statusBy(newClientKey('ES256', 'one'))).toBe(401)
  expect(host.requests).toHaveLength(1)
})

test('Assertions with unknown keys cause at most two fetches of a client’s jwks_uri per minute', async () => {
  const stranger = newClientKey('ES256', 'unheard-of')
  for (let second = 0; second < 60; second += 10) {
    await Promise.all(Array.from({ length: 10 }, () => statusBy(stranger)))
    grantor.clock.advance(10)
  }
  expect(host.requests).toHaveLength(2)
  for (let second = 0; second < 600; second += 5) {
    expect(await statusBy(newClientKey('ES256', `unheard-of-${second}`))).toBe(401)
    grantor.clock.advance(5)
  }
  expect(host.requests.length).toBeLessThanOrEqual(22)
})

test('After a failed fetch of a jwks_uri the next fetch is one minute later, and then the client is accepted again', async () => {
  host.answer = (_, response) => response.writeHead(500).end()
  expect(await statusBy(key)).toBe(503)
  expect(lastReason()).toBe('client_keys_unavailable')
  host.answer = answerWithKeys(key)
  grantor.clock.advance(59)
  expect(await statusBy(key)).toBe(503)
  expect(host.requests).toHaveLength(1)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(200)
})

test('A 503 because the keys of a client cannot be fetched is no failed response in the metrics', async () => {
  const counted = async (result: string) =>
    Number(new RegExp(`grantor_responses_total\\{result="${result}"\\} (\\d+)`).exec(await metrics.render())?.[1])
  const before = [await counted('failed'), await counted('client_unavailable')]
  host.answer = (_, response) => response.writeHead(500).end()
  expect(await statusBy(key)).toBe(503)
  const [failed = 0, away = 0] = before
  await expect.poll(async () => [await counted('failed'), await counted('client_unavailable')]).toEqual([failed, away + 1])
})

test('Fifty simultaneous client authentications share one fetch of the jwks_uri', async () => {
  host.answer = (request, response) => {
    setTimeout(() => answerWithKeys(key)(request, response), 50)
  }
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => statusBy(key))))).toEqual(new Set([200]))
  expect(host.requests).toHaveLength(1)
})

test('If a jwks_uri cannot be fetched, the cached keys are accepted for one hour and then refused', async () => {
  expect(await statusBy(key)).toBe(200)
  host.answer = (request) => request.socket.destroy()
  grantor.clock.advance(3599)
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(1)
  expect(await statusBy(key)).toBe(503)
  expect(lastReason()).toBe('client_keys_unavailable')
})

test.each<[string, ClientHost['answer']]>([
  ['not JSON', (_, response) => response.end('<html>')],
  ['not a JWK Set', (_, response) => response.end('[]')],
  ['a 404', (_, response) => response.writeHead(404).end(JSON.stringify({ keys: [key.jwk] }))],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['too large', (_, response) => response.end(JSON.stringify({ keys: [key.jwk], padding: 'x'.repeat(70_000) }))],
])('A response from a jwks_uri that is %s is not used: the client gets 503', async (_, answer) => {
  host.answer = answer
  expect(await statusBy(key)).toBe(503)
  expect(lastReason()).toBe('client_keys_unavailable')
  expect(host.requests).toHaveLength(1)
})

test('A client whose jwks_uri returns an empty set is refused with 401', async () => {
  host.answer = answerWithKeys()
  expect(await statusBy(key)).toBe(401)
  expect(lastReason()).toBe('assertion_signature_wrong')
})

test.each(Object.entries(oldRsaKeys()))(
  'An RSA key %s in a client’s jwks_uri is refused with a log entry, while the other keys are accepted',
  async (_, own) => {
    host.answer = answerWithKeys(key, own)
    expect(await statusBy(own)).toBe(401)
    expect(lastReason()).toBe('client_key_unusable')
    expect(await statusBy(key)).toBe(200)
  },
)

test('Two clients with a jwks_uri at the same host have separate keys, and a changed jwks_uri is fetched', async () => {
  const other = await grantor.createClient({ authMethod: 'private_key_jwt', jwksUri: `${host.origin}/other.json` })
  host.answer = (request, response) => answerWithKeys(request.url === '/other.json' ? nextKey : key)(request, response)
  expect([await statusBy(key), await statusBy(nextKey, other), await statusBy(key, other)]).toEqual([200, 200, 401])
  const { secret: _, ...record } = client
  await grantor.store.clients.replaceClient({ ...record, jwksUri: `${host.origin}/other.json` })
  await grantor.noticeChanges()
  expect([await statusBy(key), await statusBy(nextKey)]).toEqual([401, 200])
})

test('A client assertion with invalid claims or an unknown client causes no fetch of the jwks_uri', async () => {
  const bad = [{ aud: 'https://elsewhere.example.com' }, { exp: 1 }, { jti: undefined }, { iss: 'x', sub: 'x' }]
  for (const claims of bad) {
    const text = await assertionOf(grantor, client.id, key, claims)
    expect((await post(grantor, '/oauth/revoke', { token: 'unknown', ...asserting(text) })).status).toBe(401)
  }
  expect(host.requests).toEqual([])
})

test('A client with a jwks_uri is still accepted after the clock was set back by two hours', async () => {
  expect(await statusBy(key)).toBe(200)
  grantor.clock.advance(-7200)
  expect(await statusBy(key)).toBe(200)
})
