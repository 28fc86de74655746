/** The metadata documents in memory: their number and their size are bounded, and those in use stay. */
import { expect, test } from 'vitest'
import { MetadataClients } from '../../../src/domain/clients/metadata-clients.ts'
import type { FetchCounts } from '../../../src/domain/clients/unregistered-budgets.ts'
import type { FetchFromClient } from '../../../src/domain/model/deps.ts'

const idOf = (index: number) => `https://agent-${index}.example/client.json`

const UNLIMITED: FetchCounts = { byNetwork: () => ({ allowed: true }), byHost: () => ({ allowed: true }) }

/** Every URL has a document. `fetched` has the URLs in their order, and `again` those of them that were fetched by `fetch.again`. */
function open(more: Record<string, unknown> = {}, counts: FetchCounts = UNLIMITED) {
  const fetched: string[] = []
  const again: string[] = []
  const clock = { now: 1_800_000_000 }
  const fetch: FetchFromClient = async ({ url }) => {
    fetched.push(url)
    const body = JSON.stringify({ client_id: url, redirect_uris: ['http://localhost/callback'], ...more })
    return { kind: 'answered', status: 200, headers: { 'content-type': 'application/json' }, body }
  }
  const clients = new MetadataClients({
    policy: { allowLoopback: false, isHostAllowed: () => true },
    resources: { openTo: () => ({ resources: [], scopes: [], hasScope: () => false }) },
    counts,
    now: () => clock.now,
    fetch: {
      first: fetch,
      async again(call) {
        again.push(call.url)
        return fetch(call)
      },
    },
  })
  const load = (index: number) => clients.load(idOf(index), '192.0.2.0/24')
  const inMemory = (count: number) => Array.from({ length: count }, (_, index) => clients.findCached(idOf(index))).filter(Boolean)
  return { clients, fetched, again, clock, load, inMemory }
}

test('Of 5,000 metadata documents, 2,000 stay in memory', async () => {
  const { load, inMemory } = open()
  for (let index = 0; index < 5000; index++) expect(await load(index)).not.toBeNull()
  expect(inMemory(5000)).toHaveLength(2000)
})

test('Large metadata documents stay in memory up to 8 million characters together', async () => {
  const redirectUris = Array.from({ length: 20 }, (_, index) => `https://agent.example/${index}/${'a'.repeat(1900)}`)
  const { load, inMemory } = open({ redirect_uris: redirectUris })
  for (let index = 0; index < 300; index++) expect(await load(index)).not.toBeNull()
  expect(inMemory(300).length).toBeGreaterThan(190)
  expect(inMemory(300).length).toBeLessThan(210)
})

test.each(['findCached', 'lastGood'] as const)(
  'A metadata document that is in use (%s) stays in memory, however many other client ids are named',
  async (use) => {
    const { clients, fetched, load } = open()
    await load(0)
    for (let index = 1; index < 5000; index++) {
      await load(index)
      if (index % 1000 === 0) expect(clients[use](idOf(0))).toBeTruthy()
    }
    expect(clients.findCached(idOf(0))).toBeDefined()
    expect(fetched.filter((url) => url === idOf(0))).toHaveLength(1)
  },
)

test('A document of which a copy is in memory is fetched again by calls of its own, which unknown client ids cannot use up', async () => {
  const { fetched, again, clock, load } = open()
  await load(0)
  expect(again).toEqual([])
  clock.now += 3600
  await load(0)
  await load(1)
  expect(fetched).toEqual([idOf(0), idOf(0), idOf(1)])
  expect(again).toEqual([idOf(0)])
})

test('The fetches of new client ids use up no fetch of a document of which a copy is in memory, of the network or of the host', async () => {
  const used = new Map<string, number>()
  const count = (key: string) => {
    used.set(key, (used.get(key) ?? 0) + 1)
    return (used.get(key) ?? 0) > 2 ? ({ allowed: false, retryAfter: 60 } as const) : ({ allowed: true } as const)
  }
  const { clients, clock } = open(
    {},
    { byNetwork: (network) => count(`network ${network}`), byHost: (host) => count(`host ${host}`) },
  )
  const load = (name: string, network: string) => clients.load(`https://agent.example/${name}`, network)
  await load('client.json', '192.0.2.1')
  await load('new', '192.0.2.2')
  clock.now += 3600
  await expect(load('newer', '192.0.2.3')).rejects.toMatchObject({ reason: 'host_fetches' })
  expect(await load('client.json', '192.0.2.3')).not.toBeNull()
})
