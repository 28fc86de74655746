/** The metadata documents in memory: their number and their size are bounded, and those in use stay. */
import { expect, test } from 'vitest'
import { MetadataClients } from '../../../src/domain/clients/metadata-clients.ts'

const idOf = (index: number) => `https://agent-${index}.example/client.json`

/** Every URL has a document. `fetched` has the URLs in their order. */
function open(more: Record<string, unknown> = {}) {
  const fetched: string[] = []
  const clients = new MetadataClients({
    policy: { allowLoopback: false, isHostAllowed: () => true },
    resources: { openTo: () => ({ resources: [], scopes: [], hasScope: () => false }) },
    counts: { byNetwork: () => ({ allowed: true }), byHost: () => ({ allowed: true }) },
    now: () => 1_800_000_000,
    async fetch({ url }) {
      fetched.push(url)
      const body = JSON.stringify({ client_id: url, redirect_uris: ['http://localhost/callback'], ...more })
      return { kind: 'answered', status: 200, headers: { 'content-type': 'application/json' }, body }
    },
  })
  const load = (index: number) => clients.load(idOf(index), '192.0.2.0/24')
  const inMemory = (count: number) => Array.from({ length: count }, (_, index) => clients.known(idOf(index))).filter(Boolean)
  return { clients, fetched, load, inMemory }
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

test.each(['known', 'lastGood'] as const)(
  'A metadata document that is in use (%s) stays in memory, however many other client ids are named',
  async (use) => {
    const { clients, fetched, load } = open()
    await load(0)
    for (let index = 1; index < 5000; index++) {
      await load(index)
      if (index % 1000 === 0) expect(clients[use](idOf(0))).toBeTruthy()
    }
    expect(clients.known(idOf(0))).toBeDefined()
    expect(fetched.filter((url) => url === idOf(0))).toHaveLength(1)
  },
)
