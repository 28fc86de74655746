/** The feed of a node that continues for another node, and the bounds of the feed. */
import { describe, expect, test } from 'vitest'
import { EndingFeed, type FeedParts } from '../../../src/domain/endings/feed.ts'
import { readCursor } from '../../../src/domain/endings/feed-cursor.ts'
import { FeedReaders } from '../../../src/domain/endings/feed-readers.ts'
import type { Ending } from '../../../src/domain/model/ending-store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import type { EndingsClaims } from '../../../src/protocol/keys/endings-message.ts'
import { livingGrant } from '../../store/contract/subject.ts'
import { entriesOf, entryOfText, entryOfUuid } from '../../support/feed.ts'
import { keepingOn, loadRing, openKeyStore } from '../../support/key-keeping.ts'
import { LIFETIMES } from '../../support/start.ts'

const API = 'https://api.example.com/'
const FILES = 'https://files.example.com/'

type Node = { feed: EndingFeed; tick: () => Promise<void>; readAfter: (cursor: string | null) => ReturnType<typeof readFrom> }

/** Nodes on one store. The clock of a node is `behind` seconds behind the store's. */
async function startNodes(
  behind: readonly number[],
  { begun: given, ...parts }: Partial<Pick<FeedParts, 'store' | 'note'> & { begun: number }> = {},
) {
  const { store, clock } = await openKeyStore()
  const keys = await loadRing(keepingOn(store, clock))
  const begun = given ?? clock.now()
  let passed = 0
  const settings = { authUrl: 'https://auth.example.com', defaultResource: API, lifetimes: LIFETIMES }
  const nodes = behind.map((seconds): Node => {
    const own = () => begun + passed - seconds
    const feed = new EndingFeed({ store, keys, settings, clock: own, nextTurn: async () => {}, note: () => {}, ...parts })
    return { feed, tick: () => feed.renew(), readAfter: (cursor) => readFrom(feed, cursor) }
  })
  return {
    store,
    nodes,
    now: () => begun + passed,
    pass(seconds: number) {
      passed += seconds
    },
    async endGrant(): Promise<string> {
      const { id } = await livingGrant(store, { resources: [API] })
      await store.grants.endGrant(id, 'revoked', Math.floor(begun + passed))
      return entryOfUuid(id)
    },
  }
}

async function readFrom(feed: EndingFeed, cursor: string | null) {
  const batch = await feed.read(API, cursor === null ? null : readCursor(cursor), { isFirst: false })
  return { cursor: batch.cursor, messages: batch.messages.map(claimsOf) }
}

function claimsOf(message: string): EndingsClaims {
  return JSON.parse(Buffer.from(message.split('.')[1] ?? '', 'base64url').toString('utf8')) as EndingsClaims
}

describe('A reader that continues at another node', () => {
  test('The reader gets every ending without a snapshot, also if the clock of that node is a second behind', async () => {
    const { nodes, pass, endGrant } = await startNodes([0, 1])
    const [first, second] = nodes as [Node, Node]
    await second.readAfter(null)
    pass(5)
    await second.tick()
    const { cursor } = await first.readAfter(null)
    const ended = await endGrant()
    pass(0.1)
    // In the clock of this node, this read is before the place of the reader.
    await second.tick()
    pass(1)
    await second.tick()
    const { messages } = await second.readAfter(cursor)
    expect(messages.map(({ from }) => from)).toEqual([readCursor(cursor)?.until])
    expect(entriesOf(messages)).toEqual([ended])
  })

  test('The reader gets a snapshot from a node that began to read less than two seconds before the place of the reader', async () => {
    const { nodes, pass } = await startNodes([0, 0])
    const [first, second] = nodes as [Node, Node]
    await second.readAfter(null)
    const fromAfter = async (seconds: number) => {
      pass(seconds)
      const { cursor } = await first.readAfter(null)
      pass(0.1)
      await first.tick()
      await second.tick()
      return (await second.readAfter(cursor)).messages[0]?.from
    }
    expect(await fromAfter(1)).toBe(null)
    expect(await fromAfter(4)).toEqual(expect.any(Number))
  })
})

test('The entry of a client that is disabled a second time is kept for as long as tokens that were issued before can be valid', async () => {
  const hash = Buffer.from(entryOfText('client'), 'hex').toString('base64url')
  const added: Ending[] = []
  const endings: FeedParts['store']['endings'] = {
    readEndings: async () => ({ endings: added.splice(0), place: { instance: 'test' }, hasMore: false }),
  }
  const { nodes, pass, now } = await startNodes([0], {
    store: { endings, clients: { listClients: async () => [] } as unknown as FeedParts['store']['clients'] },
  })
  const [node] = nodes as [Node]
  added.push({ kind: 'client', hash, at: now() })
  const { cursor } = await node.readAfter(null)
  pass(LIFETIMES.longest.accessToken)
  added.push({ kind: 'client', hash, at: now() })
  await node.tick()
  expect(entriesOf((await node.readAfter(cursor)).messages, 'clients')).toEqual([entryOfText('client')])
  pass(LIFETIMES.longest.accessToken)
  expect(entriesOf((await node.readAfter(null)).messages, 'clients')).toEqual([entryOfText('client')])
})

/** One of a thousand clients, so that none has enough endings for one entry in place of them. */
const ordinaryClient = (index: number): string => `client ${index % 1000}`

describe('The bounds of the feed', () => {
  test('A feed with more than a million endings is not given to readers until enough of them are forgotten, and both are noted once', async () => {
    const ending = (index: number): Ending => ({
      kind: 'client_token',
      hash: hashOf(index),
      clientId: ordinaryClient(index),
      at: now(),
    })
    let given = 0
    const endings: FeedParts['store']['endings'] = {
      readEndings: async () => {
        const page = Array.from({ length: given < 1_050_000 ? 5000 : 0 }, (_, index) => ending(given + index))
        given += page.length
        return { endings: page, place: { instance: 'test' }, hasMore: page.length > 0 }
      },
    }
    const noted: string[] = []
    const { nodes, pass, now } = await startNodes([0], {
      store: { endings, clients: { listClients: async () => [] } as unknown as FeedParts['store']['clients'] },
      note: (state) => noted.push(state),
    })
    const [node] = nodes as [Node]
    await expect(node.readAfter(null)).rejects.toThrow(StoreUnavailable)
    await expect(node.readAfter(null)).rejects.toThrow(StoreUnavailable)
    expect([noted, given], 'the rest is not read').toEqual([['too_large'], 1_005_000])
    pass(LIFETIMES.longest.accessToken + 200)
    expect((await node.readAfter(null)).messages[0]).toMatchObject({ from: null })
    expect(noted).toEqual(['too_large', 'in_bounds'])
  })

  test('In a feed that is more than half full, a client with 100,000 entries gets one entry for the readers of its resources, in every read that has an ending of the client', {
    timeout: 240_000,
  }, async () => {
    // In the first second of a minute: a minute later, the entry of the client would be a new one.
    const full = await startLogged(1_800_000_001)
    const other = await startLogged(full.now())
    const endOf = (clientId: string, name: string, resource = API) => {
      for (const { log, now } of [full, other])
        log.push({ kind: 'client_token', hash: hashOf(name), at: now(), clientId, resources: [resource] })
    }
    for (let index = 0; index < 400_000; index++)
      full.log.push({ kind: 'client_token', hash: hashOf(index), clientId: ordinaryClient(index), at: full.now() })
    for (let index = 0; index < 101_000; index++) endOf('rogue', `of rogue ${index}`)
    const { cursor } = await full.node.readAfter(null)
    await other.node.readAfter(null)
    const pass = async (seconds: number) => {
      for (const each of [full, other]) {
        each.pass(seconds)
        await each.node.tick()
      }
    }
    endOf('rogue', 'first')
    endOf('another', 'of another')
    await pass(5)
    const { messages } = await full.node.readAfter(cursor)
    expect(entriesOf(messages)).toEqual([entryOfText('of another')])
    expect(entriesOf(messages, 'clients')).toEqual([entryOfText('rogue')])
    const ofFiles = async () => {
      const read = await full.node.feed.read(FILES, readCursor(cursor), { isFirst: false })
      return [...new Set(entriesOf(read.messages.map(claimsOf), 'clients'))]
    }
    expect(await ofFiles()).toEqual([])

    // The other node had room for the client, so its reader has no entry of the client.
    await pass(5)
    const elsewhere = await other.node.readAfter(null)
    expect(entriesOf(elsewhere.messages, 'clients')).toEqual([])
    endOf('rogue', 'second', FILES)
    await pass(1)
    const continued = await full.node.readAfter(elsewhere.cursor)
    expect(continued.messages[0]).toMatchObject({ from: readCursor(elsewhere.cursor)?.until })
    expect(entriesOf(continued.messages, 'clients')).toEqual([entryOfText('rogue')])
    expect(await ofFiles()).toEqual([entryOfText('rogue')])
  })

  test('One client has 2,000 readers and all together 5,000, and a place is free again when its reader is closed', () => {
    const readers = new FeedReaders(() => 0)
    const open = (count: number, client: string) =>
      Array.from({ length: count }, () => readers.open(client)).filter((reader) => reader !== null)
    const [first] = open(2001, 'a')
    expect(readers.count).toBe(2000)
    first?.close()
    first?.close()
    const [last] = open(2, 'a')
    expect(readers.count).toBe(2000)
    expect(open(2001, 'b')).toHaveLength(2000)
    expect(open(2000, 'c')).toHaveLength(1000)
    last?.close()
    expect(open(2, 'd')).toHaveLength(1)
  })
})

/** A node that reads endings from a list. */
async function startLogged(begun?: number) {
  const log: Ending[] = []
  const endings: FeedParts['store']['endings'] = {
    readEndings: async (place) => {
      const { next } = (place ?? { next: 0 }) as { next: number }
      const page = log.slice(next, next + 5000)
      const after = { instance: 'test', next: next + page.length }
      return { endings: page, place: after, hasMore: page.length === 5000 }
    },
  }
  const clients = { listClients: async () => [] } as unknown as FeedParts['store']['clients']
  const { nodes, pass, now } = await startNodes([0], { store: { endings, clients }, ...(begun !== undefined && { begun }) })
  return { log, pass, now, node: nodes[0] as Node }
}

const hashOf = (name: number | string) => Buffer.from(entryOfText(String(name)), 'hex').toString('base64url')
