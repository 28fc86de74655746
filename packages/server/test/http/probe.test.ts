import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { addProbeRoute, PROBE_PATH, probedHeaders, probeFor } from '../../src/http/probe.ts'

const NOW = 1_800_000_000
const [SECRET, ORIGIN] = ['between-the-servers-correct-horse', 'https://auth.example.com']

async function ask(probe: string | undefined, headers: Record<string, string> = {}) {
  const server = fastify()
  onTestFinished(() => server.close())
  addProbeRoute(server, { service: 'auth', origin: ORIGIN, secrets: [SECRET], now: () => NOW })
  return server.inject({ url: PROBE_PATH, headers: { ...headers, ...(probe === undefined ? {} : { 'grantor-probe': probe }) } })
}

test('A probe with the MAC of the login secret gets the address, the clock and the names of missing headers', async () => {
  const probe = probeFor(SECRET, ORIGIN, NOW - 300)
  const answer = await ask(probe, { ...probedHeaders(ORIGIN), dpop: 'changed', 'x-forwarded-for': '192.0.2.1' })
  expect(answer.json()).toEqual({
    service: 'auth',
    probe,
    now: NOW,
    peer: '127.0.0.1',
    peer_port: expect.any(Number),
    forwarded_for: '192.0.2.1',
    missing: ['dpop'],
  })
})

test.each([
  ['No probe', undefined],
  ['An empty probe', ''],
  ['A probe with another secret', probeFor('another-secret-of-32-characters-or-more', ORIGIN, NOW)],
  ['A probe for the origin of another server', probeFor(SECRET, 'https://evil.example', NOW)],
  ['A probe of two days ago', probeFor(SECRET, ORIGIN, NOW - 2 * 86_400)],
  ['A probe with another time than its MAC', probeFor(SECRET, ORIGIN, NOW).replace(/^\d+/, String(NOW + 1))],
  ['A long text', 'x'.repeat(10_000)],
])('%s gets 404 and no fact about the server', async (_what, probe) => {
  const answer = await ask(probe)
  expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'not_found' }])
})
