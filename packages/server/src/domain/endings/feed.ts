/**
 * The feed of endings in one node. While it has readers, the node reads the store twice a second for all of them together, and keeps
 * the endings of the last lifetime of an access token in memory.
 *
 * `until` is the promise of the feed: every ending that was acknowledged before `until` is in the feed. The promise holds because `until` is the time
 * at which a read of the store begins, and no read skips an ending that was committed before (`EndingStore`).
 */
import { createHash, hash, randomBytes } from 'node:crypto'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import type { Changed } from '../model/changes.ts'
import type { ServiceSettings } from '../model/deps.ts'
import { type Ending, type EndingPlace, hashOfClient } from '../model/ending-store.ts'
import type { Store } from '../model/store.ts'
import { StoreUnavailable } from '../model/store-errors.ts'
import { ENTRY_LENGTH, Entries } from './entries.ts'
import { type FeedPlace, writeCursor } from './feed-cursor.ts'
import { type Added, type EntryKind, type MessageFrame, partsOf, signingKeyIds, signMessage } from './feed-message.ts'
import { HeldBytes } from './held-bytes.ts'
import { type Snapshot, Snapshots } from './snapshots.ts'
import { EVERYONE, exchangesOf, Visibility } from './visibility.ts'

export type FeedParts = {
  store: Pick<Store, 'endings' | 'clients'>
  keys: KeyRing
  settings: Pick<ServiceSettings, 'authUrl' | 'defaultResource' | 'lifetimes'>
  /** epoch seconds with a fraction: the clock of the service */
  clock: () => number
  /** resolves in a later turn of the event loop, so that other requests run in between */
  nextTurn: () => Promise<void>
  /** Called once when the feed has more entries than it may have, and once when it has fewer again. */
  note: (state: 'too_large' | 'in_bounds', entries: number) => void
}

/** The messages after a place, and the place after them. `snapshot` is the one that messages are of. */
export type Batch = { cursor: string; messages: readonly string[]; snapshot?: Pick<Snapshot, 'use'> }

export type FeedFacts = {
  entries: number
  bytes: number
  /** seconds since `until`; null while no reader is there */
  age: number | null
  /** seconds from the latest ending until it was in the feed */
  delay: number
}

/** Entries in memory, and in a snapshot. With more, readers use introspection. */
const ENTRIES_AT_MOST = 1_000_000
/**
 * If the feed is more than half full, a client with more entries than this gets one entry for all further endings: otherwise one client that
 * revokes its own tokens would stop the feed of all others.
 */
const OF_ONE_CLIENT_AT_MOST = 100_000
const ROWS_AT_ONCE = 5000
/** Seconds for which an entry is kept after the last token that it can concern has expired. Clocks and rounding differ by less. */
const SLACK = 60
/** Milliseconds by which the clock may go back without having been set. */
const CLOCK_JITTER = 100
/** Seconds. Entries are forgotten in blocks of this many seconds. */
const BLOCK = 60
/** Milliseconds. A feed that is older is not given to a new reader. */
const STALE_AFTER = 2500
/** Reads of the store that a reader can miss and still continue from its cursor. */
const TICKS_AT_MOST = 240
const LOGGED_AT_MOST = 50_000
/** Reads of the store after the last reader has left. Then the node discards the feed. */
const IDLE_AT_MOST = 120
/** Milliseconds. Another node's clock may differ by this much, so a reader that comes from there gets these endings again. */
const OTHER_NODE = 2000
/**
 * Readers that are woken between two pauses. With 50 of 2,000 readers in each turn of the event loop and no pause, the p99 of refreshes was three
 * times as high as without readers (`npm run bench -- feed readers`).
 */
const WOKEN_AT_ONCE = 10
/** Reads of the store between two reads of the exchanges that clients may make. */
const EXCHANGES_EVERY = 10
/** Bytes of messages that readers at the same place share, until the next read of the store. */
const SHARED_AT_MOST = 4 * 1024 * 1024

/** One read of the store, in milliseconds. What was committed after `seenBy` is not in `added`. */
type Tick = { until: number; seenBy: number; added: Added[] }

/** Every ending up to the place, in `of` parts, without the first part: it has no ending and is signed for each reader. */
type SnapshotContent = { name: string; place: FeedPlace; of: number; snapshot: Snapshot }

/**
 * With `isFirst`, the first message is signed now and for this reader only. With a nonce, which needs `isFirst`, this message repeats the nonce, and
 * exists also if the reader has everything.
 */
type FeedOpening = { isFirst: boolean; nonce?: string | null }

class State {
  readonly kinds: Record<EntryKind, Entries> = { ended: new Entries(), clients: new Entries() }
  readonly visibility = new Visibility()
  readonly feed: string
  /** the latest reads, the oldest first. `begin` are the times of the read before them. */
  ticks: Tick[] = []
  begin: Omit<Tick, 'added'> = { until: 0, seenBy: 0 }
  place: EndingPlace | null = null
  /** The last scan stopped before its last page. */
  isScanOpen = false
  /** entries of a read that is not complete. A client is in it once. */
  pending: Added[] = []
  readonly pendingClients = new Set<string>()
  until = 0
  keys = ''
  delay = 0
  /** From these times on, in milliseconds, a reader may see more than before. Earlier cursors get a snapshot. */
  readonly widenedAt = new Map<string, number>()
  /** from a resource and the start of a message to the message, for the present `until` */
  readonly messages = new Map<string, string>()
  messageBytes = 0

  constructor(instance: string, startedAt: string) {
    this.feed = createHash('sha256').update(`${instance}\0${startedAt}`).digest('base64url').slice(0, 16)
  }

  get entries(): number {
    return this.kinds.ended.count + this.kinds.clients.count
  }
}

type WaitingReader = { resource: string; wake: () => void }

export class EndingFeed {
  /** what is held in memory for readers */
  readonly held: HeldBytes
  readonly #parts: FeedParts
  readonly #snapshots: Snapshots<SnapshotContent>
  readonly #node = randomBytes(6).toString('base64url')
  #state: State | null = null
  #renewing: Promise<void> | null = null
  #waiting: WaitingReader[] = []
  #idle = IDLE_AT_MOST
  #reads = 0
  #mayExchangesHaveChanged = true
  #exchangesReadAt = Number.NEGATIVE_INFINITY
  /** not empty after the clock was set back: cursors of before must not be continued */
  #clockSetAt = ''
  #isTooLarge = false
  #isClosed = false

  constructor(parts: FeedParts) {
    this.#parts = parts
    this.held = new HeldBytes(parts.clock)
    this.#snapshots = new Snapshots(this.held)
  }

  facts(): FeedFacts {
    const state = this.#state
    if (!state) return { entries: 0, bytes: 0, age: null, delay: 0 }
    const { ended, clients } = state.kinds
    return {
      entries: state.entries,
      bytes: ended.bytes + clients.bytes,
      age: this.#parts.clock() - state.until / 1000,
      delay: state.delay,
    }
  }

  /** Notes that clients have changed: they may now exchange tokens for other resources. */
  forget(changed: Changed): void {
    if (changed === 'everything' || changed.length > 0) this.#mayExchangesHaveChanged = true
  }

  /** Reads the store if the feed has readers. To be called twice a second. */
  async renew(): Promise<void> {
    this.held.dropOld()
    this.#snapshots.dropUnused()
    if (this.#idle >= IDLE_AT_MOST) this.#state = null
    else await this.#renewOnce()
  }

  /**
   * The messages after the cursor; a snapshot if there is no cursor, or if the feed cannot be continued from there. No message if the reader has
   * everything. Throws `StoreUnavailable` if the feed is not complete now.
   */
  async read(resource: string, cursor: FeedPlace | null, opening: FeedOpening): Promise<Batch> {
    const state = await this.#freshState()
    if (cursor && this.#canContinue(state, resource, cursor)) return this.#batchAfter(state, resource, cursor, opening)
    const { name, place, of, snapshot } = await this.#snapshot(state, resource)
    const frame = { ...this.#frame(state, resource), until: place.until }
    const { nonce = null } = opening
    const first = signMessage(this.#parts.keys, frame, { nonce, from: null, part: [1, of], snapshot: name, added: [] })
    const after = this.#batchAfter(state, resource, place, { isFirst: false })
    return { cursor: after.cursor, messages: [first, ...snapshot.messages, ...after.messages], snapshot }
  }

  /** What follows the place; no message if nothing was read since and there is no nonce. */
  #batchAfter(state: State, resource: string, place: FeedPlace, { isFirst, nonce = null }: FeedOpening): Batch {
    const cursor = writeCursor(this.#placeIn(state))
    if (place.until === state.until && nonce === null) return { cursor, messages: [] }
    const message = isFirst ? this.#makeMessage(state, resource, place, nonce) : this.#messageAfter(state, resource, place)
    return { cursor, messages: [message] }
  }

  /** Resolves when the reader can read more, or after about a second, also if the store cannot be read. */
  next(resource: string, cursor: string): Promise<void> {
    this.#idle = 0
    const state = this.#state
    if (this.#isClosed || (state && cursor !== writeCursor(this.#placeIn(state)))) return Promise.resolve()
    return new Promise((wake) => void this.#waiting.push({ resource, wake }))
  }

  /** Wakes every reader. From now on `next` returns at once. */
  close(): void {
    this.#isClosed = true
    for (const { wake } of this.#waiting.splice(0)) wake()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #placeIn({ until, feed }: State): FeedPlace {
    return { until, feed, node: this.#node }
  }

  async #freshState(): Promise<State> {
    this.#idle = 0
    if (!this.#isFresh()) await this.#renewOnce()
    if (this.#isTooLarge) throw new StoreUnavailable('the feed of endings is too large')
    if (!this.#state || !this.#isFresh()) throw new StoreUnavailable('the feed of endings is not complete')
    return this.#state
  }

  #isFresh(): boolean {
    return this.#state !== null && this.#state.until > 0 && this.#parts.clock() * 1000 - this.#state.until <= STALE_AFTER
  }

  #canContinue(state: State, resource: string, { until, feed, node }: FeedPlace): boolean {
    if (feed !== state.feed || until > state.until || until < (state.widenedAt.get(resource) ?? 0)) return false
    return node === this.#node ? until >= state.begin.until : until - OTHER_NODE > state.begin.seenBy
  }

  /** The readers of one resource at the same place share one message. */
  #messageAfter(state: State, resource: string, place: FeedPlace): string {
    const name = `${resource} ${place.until} ${place.node === this.#node}`
    const known = state.messages.get(name)
    if (known !== undefined) return known
    const message = this.#makeMessage(state, resource, place, null)
    if (state.messageBytes + message.length > SHARED_AT_MOST) return message
    state.messages.set(name, message)
    state.messageBytes += message.length
    return message
  }

  /** One message with everything after the place. */
  #makeMessage(state: State, resource: string, { until, node }: FeedPlace, nonce: string | null): string {
    const isOwn = node === this.#node
    const added = state.ticks
      .filter((tick) => (isOwn ? tick.until > until : tick.seenBy >= until - OTHER_NODE))
      .flatMap((tick) => tick.added.filter(({ block, position }) => state.visibility.sees(resource, block.groupAt(position))))
    return signMessage(this.#parts.keys, this.#frame(state, resource), { nonce, from: until, added })
  }

  /**
   * Readers that come at about the same time share one snapshot, but not its first part: a reader computes from the `at` of this part by how
   * much the clocks differ.
   */
  async #snapshot(state: State, resource: string): Promise<SnapshotContent> {
    const name = `${state.feed} ${resource}`
    const content = await this.#snapshots.get(name, (snapshot) => this.#makeSnapshot(state, resource, snapshot))
    if (this.#canContinue(state, resource, content.place)) return content
    this.#snapshots.forget(name)
    throw new StoreUnavailable('the feed of endings has no longer what followed the snapshot')
  }

  async #makeSnapshot(state: State, resource: string, snapshot: Snapshot): Promise<SnapshotContent> {
    const frame = this.#frame(state, resource)
    const place = this.#placeIn(state)
    const name = randomBytes(12).toString('base64url')
    const { count, parts } = partsOf(state.kinds, (group) => state.visibility.sees(resource, group))
    const of = count + 1
    let part = 2
    for (const added of parts) {
      if (part > 2) await this.#parts.nextTurn()
      snapshot.add(signMessage(this.#parts.keys, frame, { from: null, part: [part++, of], snapshot: name, added }))
    }
    return { name, place, of, snapshot }
  }

  #frame(state: State, resource: string): MessageFrame {
    const { settings, clock } = this.#parts
    const at = Math.max(Math.floor(clock() * 1000), state.until)
    const { feed, until } = state
    return { iss: settings.authUrl, aud: resource, at, feed, until, lifetime: settings.lifetimes.longest.accessToken }
  }

  #renewOnce(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = null))
    return this.#renewing
  }

  async #renew(): Promise<void> {
    this.#idle++
    this.#reads++
    try {
      const { state, tick } = await this.#readTick()
      await this.#wake(this.#waitingFor(state, tick))
    } catch (error) {
      await this.#wake(this.#waiting.splice(0))
      throw error
    }
  }

  async #readTick(): Promise<{ state: State; tick: Tick }> {
    const { clock } = this.#parts
    const begunAt = Math.floor(clock() * 1000)
    if (this.#state && begunAt < this.#state.until - CLOCK_JITTER) {
      // The clock was set back. Cursors are times, so those of before cannot be continued.
      this.#clockSetAt = String(begunAt)
      this.#state = null
    }
    this.#refuseIfTooLarge(clock())
    const state = await this.#readStore()
    await this.#renewExchanges(state)
    const isFirst = state.until === 0
    state.until = Math.max(begunAt, state.until + 1)
    const tick = { until: state.until, seenBy: Math.ceil(clock() * 1000), added: state.pending }
    state.pending = []
    state.pendingClients.clear()
    if (isFirst) state.begin = tick
    else state.ticks.push(tick)
    this.#state = state
    this.#keepInBounds(state)
    return { state, tick }
  }

  /**
   * Reads the endings since the last read. The pages that an interrupted scan has left are as old as the beginning of that scan, and can lack what was
   * committed since. So another scan follows them.
   */
  async #readStore(): Promise<State> {
    const state = this.#state
    return this.#scan(state?.isScanOpen ? await this.#scan(state) : state)
  }

  async #scan(before: State | null): Promise<State> {
    const { store, settings, clock } = this.#parts
    const within = settings.lifetimes.longest.accessToken + SLACK
    let state = before
    for (;;) {
      const at = clock()
      const read = await store.endings.readEndings(state?.place ?? null, { within, limit: ROWS_AT_ONCE, at: Math.floor(at) })
      if (state?.place && state.place.instance !== read.place.instance) {
        state = null
        continue
      }
      state ??= new State(read.place.instance, this.#clockSetAt)
      for (const ending of read.endings) this.#add(state, ending, at)
      state.place = read.place
      state.isScanOpen = read.hasMore
      if (!read.hasMore) return state
      if (state.entries > ENTRIES_AT_MOST) {
        // What was read is kept, so that the next read begins after it.
        this.#state = state
        this.#refuseIfTooLarge(at)
      }
    }
  }

  /** Removes old entries. Throws if the feed still has more entries than it may have. */
  #refuseIfTooLarge(at: number): void {
    if (!this.#state) return
    for (const entries of Object.values(this.#state.kinds)) entries.forget(at)
    const { entries } = this.#state
    const isTooLarge = entries > ENTRIES_AT_MOST
    if (isTooLarge !== this.#isTooLarge) this.#parts.note(isTooLarge ? 'too_large' : 'in_bounds', entries)
    this.#isTooLarge = isTooLarge
    if (isTooLarge) throw new StoreUnavailable('the feed of endings is too large')
  }

  #add(state: State, ending: Ending, at: number): void {
    const forgetAt = Math.ceil((ending.at + this.#parts.settings.lifetimes.longest.accessToken + SLACK) / BLOCK) * BLOCK
    if (forgetAt < at) return
    const entry = entryOf(ending)
    if (ending.kind === 'client') return this.#addClient(state, entry, { forgetAt, group: EVERYONE })
    if (state.kinds.ended.has(entry)) return
    state.delay = Math.max(0, at - ending.at)
    const { clientId, resources } = ending
    const group = resources === undefined ? EVERYONE : state.visibility.groupOf(this.#resourcesOf(resources))
    const owner = this.#ownerOf(clientId)
    if (isFull(state, owner)) return this.#addClient(state, entryOfHash(hashOfClient(clientId)), { forgetAt, group })
    state.pending.push({ kind: 'ended', ...state.kinds.ended.add(entry, { forgetAt, group, owner }) })
  }

  /** Readers introspect the tokens of the client, and those that were exchanged from its tokens. */
  #addClient(state: State, entry: Buffer, at: { forgetAt: number; group: number }): void {
    this.#putClient(state, entry, at)
    this.#putExchangers(state, at)
  }

  /** An exchanged token names the client that exchanged it, and not the client that it comes from. */
  #putExchangers(state: State, at: { forgetAt: number; group: number }): void {
    for (const id of state.visibility.exchangersOf(at.group)) this.#putClient(state, entryOfHash(hashOfClient(id)), at)
  }

  /**
   * Every read has the entry again if it has an ending of the client. A reader may come from a node that had room for the earlier endings of the
   * client, and so has no entry of the client yet. Tokens that were issued since the last ending are valid for longer than the earlier entry is kept.
   */
  #putClient(state: State, entry: Buffer, { forgetAt, group }: { forgetAt: number; group: number }): void {
    const { clients } = state.kinds
    const place = clients.find(entry, forgetAt) ?? clients.add(entry, { forgetAt, group })
    const { block, position } = place
    block.setGroup(position, state.visibility.join(block.groupAt(position), group))
    const name = `${forgetAt} ${position}`
    if (!state.pendingClients.has(name)) state.pending.push({ kind: 'clients', ...place })
    state.pendingClients.add(name)
  }

  /** Owners are numbers, so that an entry needs two bytes for its owner. Clients that have the same number by chance share a bound. */
  #ownerOf(clientId: string): number {
    const digits = hash('sha256', `${this.#node} ${clientId}`, 'hex').slice(0, 8)
    return 1 + (Number.parseInt(digits, 16) % 65_535)
  }

  /** A grant without resources is for the default resource. */
  #resourcesOf(resources: readonly string[]): readonly string[] {
    return resources.length === 0 ? [this.#parts.settings.defaultResource] : resources
  }

  async #renewExchanges(state: State): Promise<void> {
    const isNew = state.until === 0
    if (!isNew && !(this.#mayExchangesHaveChanged && this.#reads - this.#exchangesReadAt >= EXCHANGES_EVERY)) return
    this.#mayExchangesHaveChanged = false
    this.#exchangesReadAt = this.#reads
    try {
      const widened = state.visibility.allow(exchangesOf(await this.#parts.store.clients.listClients()))
      for (const { forgetAt, groups } of groupsOf(state.kinds.clients))
        for (const group of groups) this.#putExchangers(state, { forgetAt, group })
      for (const reader of widened) {
        state.widenedAt.set(reader, state.until + 1)
        this.#snapshots.forget(`${state.feed} ${reader}`)
      }
    } catch (error) {
      this.#mayExchangesHaveChanged = true
      throw error
    }
  }

  #keepInBounds(state: State): void {
    let logged = state.ticks.reduce((sum, { added }) => sum + added.length, 0)
    while (state.ticks.length > TICKS_AT_MOST || logged > LOGGED_AT_MOST) {
      const oldest = state.ticks.shift()
      if (!oldest) break
      state.begin = oldest
      logged -= oldest.added.length
    }
    state.messages.clear()
    state.messageBytes = 0
  }

  /**
   * Takes from the list the readers for which there is a new entry. After every second read takes all readers, so that each gets a message
   * once a second.
   */
  #waitingFor(state: State, { added }: Tick): WaitingReader[] {
    const keys = signingKeyIds(this.#parts.keys).join(' ')
    const isForAll = this.#reads % 2 === 0 || keys !== state.keys
    state.keys = keys
    if (isForAll) return this.#waiting.splice(0)
    const groups = new Set(added.map(({ block, position }) => block.groupAt(position)))
    const hasNews = ({ resource }: WaitingReader) => [...groups].some((group) => state.visibility.sees(resource, group))
    const { woken = [], waiting = [] } = Object.groupBy(this.#waiting, (each) => (hasNews(each) ? 'woken' : 'waiting'))
    this.#waiting = waiting
    return woken
  }

  async #wake(woken: readonly WaitingReader[]): Promise<void> {
    for (const [index, { wake }] of woken.entries()) {
      if (index > 0 && index % WOKEN_AT_ONCE === 0) await this.#parts.nextTurn()
      wake()
    }
  }
}

function isFull(state: State, owner: number): boolean {
  return state.kinds.ended.countOf(owner) >= OF_ONE_CLIENT_AT_MOST && state.entries > ENTRIES_AT_MOST / 2
}

/** The groups of the entries of each block. */
function groupsOf(entries: Entries): { forgetAt: number; groups: Set<number> }[] {
  return entries.blocks().map((block) => {
    const groups = new Set<number>()
    for (let position = 0; position < block.count; position++) groups.add(block.groupAt(position))
    return { forgetAt: block.forgetAt, groups }
  })
}

/** As in docs/reference/feed.md. */
function entryOf(ending: Ending): Buffer {
  switch (ending.kind) {
    case 'grant':
      return uuidBytes(ending.grantId)
    case 'token':
      return uuidBytes(ending.jti)
    case 'client_token':
    case 'client':
      return entryOfHash(ending.hash)
  }
}

function entryOfHash(text: string): Buffer {
  return Buffer.from(text, 'base64url').subarray(0, ENTRY_LENGTH)
}

function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}
