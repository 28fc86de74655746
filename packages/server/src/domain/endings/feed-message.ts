/** The messages of the feed (docs/reference/feed.md). */
import { type EndingsClaims, type EntriesByTime, signEndings } from '../../protocol/keys/endings-message.ts'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import type { Block, Entries, EntryPosition } from './entries.ts'

/** The two kinds of entries. `clients`: a token of the client must be introspected. */
const ENTRY_KINDS = ['ended', 'clients'] as const
export type EntryKind = (typeof ENTRY_KINDS)[number]
export type Added = EntryPosition & { kind: EntryKind }

/** The entries of one message of a snapshot: 128 KiB of JSON. */
const PART_AT_MOST = 4096

/** What the messages of one reader's resource have in common. */
export type MessageFrame = Pick<EndingsClaims, 'iss' | 'aud' | 'at' | 'feed' | 'until' | 'lifetime'>

export function signMessage(
  ring: KeyRing,
  frame: MessageFrame,
  content: Pick<EndingsClaims, 'from' | 'part' | 'snapshot'> & { added: Iterable<Added>; nonce?: string | null },
): string {
  const { nonce = null, from, part, snapshot, added } = content
  return signEndings(ring, {
    iss: frame.iss,
    aud: frame.aud,
    iat: Math.floor(frame.at / 1000),
    at: frame.at,
    ...(nonce !== null && { nonce }),
    feed: frame.feed,
    from,
    until: frame.until,
    lifetime: frame.lifetime,
    ...(part && { part }),
    ...(snapshot !== undefined && { snapshot }),
    keys: signingKeyIds(ring),
    ...entriesByTime(added),
  })
}

/** The ids of the keys whose access tokens are valid. */
export function signingKeyIds(ring: KeyRing): string[] {
  return ring.signingKeys().flatMap(({ kind, id }) => (kind === 'sign' ? [id] : []))
}

function entriesByTime(added: Iterable<Added>): { ended?: EntriesByTime; clients?: EntriesByTime } {
  const found: { [Kind in EntryKind]?: Record<string, Buffer[]> } = {}
  for (const { kind, block, position } of added) {
    const times = (found[kind] ??= {})
    ;(times[block.forgetAt] ??= []).push(block.entryAt(position))
  }
  const { ended, clients } = found
  return { ...(ended && { ended: written(ended) }), ...(clients && { clients: written(clients) }) }
}

function written(times: Record<string, Buffer[]>): EntriesByTime {
  return Object.fromEntries(Object.entries(times).map(([time, entries]) => [time, Buffer.concat(entries).toString('base64url')]))
}

/** The entries that are there now. Entries that are added later are not part of the selection. */
type Selection = { kind: EntryKind; block: Block; count: number }[]

function selectAll(kinds: Readonly<Record<EntryKind, Entries>>): Selection {
  return ENTRY_KINDS.flatMap((kind) => kinds[kind].blocks().map((block) => ({ kind, block, count: block.count })))
}

function* visibleIn(selection: Selection, isVisible: (group: number) => boolean): Generator<Added> {
  for (const { kind, block, count } of selection)
    for (let position = 0; position < count; position++) if (isVisible(block.groupAt(position))) yield { kind, block, position }
}

/** The entries that a reader may see, in lists of the size of one message; one empty list if there are none. */
export function partsOf(
  kinds: Readonly<Record<EntryKind, Entries>>,
  isVisible: (group: number) => boolean,
): { count: number; parts: Generator<Added[]> } {
  const selection = selectAll(kinds)
  let entries = 0
  for (const _ of visibleIn(selection, isVisible)) entries++
  return { count: Math.max(1, Math.ceil(entries / PART_AT_MOST)), parts: inParts(visibleIn(selection, isVisible)) }
}

function* inParts(entries: Generator<Added>): Generator<Added[]> {
  let part: Added[] = []
  let isFirst = true
  for (const entry of entries) {
    if (part.length === PART_AT_MOST) {
      yield part
      part = []
      isFirst = false
    }
    part.push(entry)
  }
  if (part.length > 0 || isFirst) yield part
}
