/**
 * A scan of several pages that stops in the middle, on PostgreSQL. The next read continues the scan, which can be before what was committed since it
 * began: the message of that read must not promise more than it has.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { EndingFeed, type FeedParts } from '../../../src/domain/endings/feed.ts'
import { readCursor } from '../../../src/domain/endings/feed-cursor.ts'
import type { EndingsRead } from '../../../src/domain/model/ending-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import type { EndingsClaims } from '../../../src/protocol/keys/endings-message.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { openCopies } from '../../chaos/feed/grant-copies.ts'
import { entriesOf, entryOfUuid } from '../../support/feed.ts'
import { keepingOn, loadRing } from '../../support/key-keeping.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { LIFETIMES, TestClock } from '../../support/start.ts'
import { livingGrant } from '../contract/subject.ts'

const API = 'https://api.example.com/'
/** More than a page of the feed. */
const ROWS = 6000

/** The hashes of as many tokens as make the feed too large. */
function manyHashes(): string[] {
  const bytes = Buffer.alloc(32)
  return Array.from({ length: 1_000_001 }, (_, index) => {
    // The table of the entries needs spread bytes.
    bytes.writeUInt32LE(Math.imul(index, 2_654_435_761) >>> 0, 12)
    return bytes.toString('base64url')
  })
}

/** A feed with a reader, whose next scan has two pages. `afterPage` is called after each page, and may add to it. */
async function startFeed(afterPage: (page: EndingsRead) => Promise<EndingsRead>) {
  const database = await newPostgresDatabase()
  const clock = new TestClock()
  await migratePostgres(database.address, clock.now())
  const store = await openPostgresStore(database.address, { clock: 'given' })
  const copies = openCopies(database.url)
  onTestFinished(async () => void (await Promise.all([store.close(), copies.close()])))
  const endings: FeedParts['store']['endings'] = {
    readEndings: async (...of) => afterPage(await store.endings.readEndings(...of)),
  }
  const feed = new EndingFeed({
    store: { endings, clients: store.clients },
    keys: await loadRing(keepingOn(store, clock)),
    settings: { authUrl: 'https://auth.example.com', defaultResource: API, lifetimes: LIFETIMES },
    clock: clock.now,
    nextTurn: async () => {},
    note: () => {},
  })
  const ended = await endGrant(store, clock)
  const { cursor } = await feed.read(API, null, { isFirst: true })
  await copies.copyGrant(ended, ROWS)
  return { database, store, clock, feed, cursor }
}

async function endGrant({ grants }: Store, clock: TestClock): Promise<string> {
  const { id } = await livingGrant({ grants } as Store, { resources: [API], expiresAt: clock.now() + 1e6 })
  await grants.endGrant(id, 'revoked', clock.now())
  return id
}

/** What a reader at the place has got, and until when it has everything. */
async function readAfter(feed: EndingFeed, cursor: string): Promise<{ until: number; entries: string[] }> {
  const { messages } = await feed.read(API, readCursor(cursor), { isFirst: false })
  const claims = messages.map(
    (text) => JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as EndingsClaims,
  )
  return { until: claims.at(-1)?.until ?? 0, entries: entriesOf(claims) }
}

test('After a page that failed, the feed has every ending that was acknowledged before `until`', async () => {
  let pages = 0
  let lock = async () => {}
  const { database, store, clock, feed, cursor } = await startFeed(async (page) => {
    if (page.hasMore && pages++ === 0) await lock()
    return page
  })
  lock = async () => void (await database.sql.unsafe('BEGIN; LOCK TABLE grants'))
  await expect(feed.renew(), 'the second page').rejects.toThrow(StoreUnavailable)
  await database.sql.unsafe('ROLLBACK')
  expect(pages).toBe(1)
  clock.advance(1)
  // The scan has read the last page of these tokens.
  const token = randomBytes(32)
  const [hash, clientId] = [token.toString('base64url'), randomUUID()]
  await store.spent.revokeClientToken({ hash, clientId, attemptId: randomUUID(), at: clock.now() })
  const acknowledged = clock.now() * 1000
  clock.advance(1)
  await feed.renew()
  const { until, entries } = await readAfter(feed, cursor)
  expect(until).toBeGreaterThan(acknowledged)
  expect(entries).toContain(token.toString('hex').slice(0, 32))
  expect(entries.length).toBeGreaterThan(ROWS)
})

test('After the feed was too large, it has every ending that was acknowledged before `until`', async () => {
  let hashes: string[] = []
  const { store, clock, feed, cursor } = await startFeed(async (page) => {
    // No client has so many that one entry replaces them.
    const more = hashes.map((hash, index) => {
      return { kind: 'client_token' as const, hash, clientId: `client ${index % 1000}`, at: clock.now() }
    })
    hashes = []
    return { ...page, endings: [...page.endings, ...more] }
  })
  hashes = manyHashes()
  await expect(feed.renew(), 'after the first page').rejects.toThrow('too large')
  // The others are forgotten meanwhile.
  clock.advance(LIFETIMES.longest.accessToken + 200)
  const id = await endGrant(store, clock)
  const acknowledged = clock.now() * 1000
  clock.advance(64)
  await feed.renew()
  const { until, entries } = await readAfter(feed, cursor)
  expect(until).toBeGreaterThan(acknowledged)
  expect(entries).toContain(entryOfUuid(id))
})
