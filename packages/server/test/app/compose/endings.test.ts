/** What an operator sees of the feed of endings: its metrics, and the log lines about its size. */
import { expect, test } from 'vitest'
import { composeEndings } from '../../../src/app/compose/endings.ts'
import type { FeedParts } from '../../../src/domain/endings/feed.ts'
import type { Ending } from '../../../src/domain/model/ending-store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { createMetrics } from '../../../src/observability/metrics/metrics.ts'
import { livingGrant } from '../../store/contract/subject.ts'
import { keepingOn, loadRing, openKeyStore } from '../../support/key-keeping.ts'
import { LIFETIMES } from '../../support/start.ts'

const API = 'https://api.example.com/'
const settings = { authUrl: 'https://auth.example.com', defaultResource: API, lifetimes: LIFETIMES }
const read = { isFirst: true }

test('The metrics show the entries, their memory, the readers, the ages of the feed and of its slowest reader, and the delay of the latest ending', async () => {
  const { store, clock } = await openKeyStore()
  const metrics = createMetrics()
  const lines: unknown[] = []
  const begun = clock.now()
  let passed = 0
  const { feed, readers } = composeEndings({
    store,
    keys: await loadRing(keepingOn(store, clock)),
    settings,
    clock: () => begun + passed,
    logger: { warn: (...line: unknown[]) => lines.push(line), info: (...line: unknown[]) => lines.push(line) },
    metrics,
  })
  const { id } = await livingGrant(store, { resources: [API] })
  await store.grants.endGrant(id, 'revoked', begun)
  passed = 2
  await feed.read(API, null, read)
  const [slow, fast] = [readers.open('a'), readers.open('a')]
  Object.assign(slow ?? {}, { until: (begun - 3) * 1000 })
  passed = 3
  expect(await feedValuesOf(metrics)).toEqual({
    entries: 1,
    bytes: feed.facts().bytes,
    readers: 2,
    age_seconds: 1,
    slowest_reader_age_seconds: 6,
    delay_seconds: 2,
  })
  slow?.close()
  expect(await feedValuesOf(metrics)).toMatchObject({ readers: 1, slowest_reader_age_seconds: 1 })
  fast?.close()
  expect(lines).toEqual([])
})

test('The log has one line when the feed has too many endings, and one when it is complete again', async () => {
  const { store, clock } = await openKeyStore()
  let [passed, given] = [0, 0]
  const now = () => clock.now() + passed
  const endings: FeedParts['store']['endings'] = {
    async readEndings() {
      const page = Array.from({ length: given < 1_005_000 ? 5000 : 0 }, (_, index) => endingOf(given + index, now()))
      given += page.length
      return { endings: page, place: { instance: 'test' }, hasMore: page.length > 0 }
    },
  }
  const lines: [level: string, words: string][] = []
  const { feed } = composeEndings({
    store: { endings, clients: store.clients },
    keys: await loadRing(keepingOn(store, clock)),
    settings,
    clock: now,
    logger: {
      warn: (_: object, words?: string) => lines.push(['warn', words ?? '']),
      info: (_: object, words?: string) => lines.push(['info', words ?? '']),
    },
    metrics: undefined,
  })
  for (let reads = 0; reads < 2; reads++) await expect(feed.read(API, null, read)).rejects.toThrow(StoreUnavailable)
  expect(lines).toEqual([['warn', 'the feed of endings is too large: resource servers use introspection']])
  passed = LIFETIMES.longest.accessToken + 200
  await feed.read(API, null, read)
  expect(lines.slice(1)).toEqual([['info', 'the feed of endings is complete again']])
})

function endingOf(number: number, at: number): Ending {
  const hash = Buffer.alloc(32)
  // The last bytes of an entry spread the entries of a table.
  hash.writeUInt32LE((number * 2_654_435_761) % 2 ** 32, 12)
  hash.writeUInt32LE(number, 0)
  // No client has so many that one entry replaces them.
  return { kind: 'client_token', hash: hash.toString('base64url'), clientId: `client ${number % 1000}`, at }
}

async function feedValuesOf(metrics: ReturnType<typeof createMetrics>): Promise<Record<string, number>> {
  const found = (await metrics.render()).matchAll(/^grantor_feed_(\w+) (\S+)$/gm)
  return Object.fromEntries([...found].map(([, name = '', value]) => [name, Number(value)]))
}
