/**
 * The life of a key: stored, announced, making, still opening, retired.
 *
 * A new key is stored 60 s before it makes anything, so that every node and every cached JWK Set has it first. The first keys of a
 * new store are the exception: they are stored before any node listens. A key opens for as long as the longest-lived thing it made.
 */
import { randomBytes } from 'node:crypto'
import { ANNOUNCED_FOR, type KeyKind, type KeyRecord, type KeyRing, type OpenKey, SIGNING_KINDS } from '../keys/key-ring.ts'
import type { KeyWrap } from '../keys/key-wrap.ts'
import { openSecretKey } from '../keys/secret-key.ts'
import { newSigningMaterial, openSigningKey, type SigningAlgorithm } from '../keys/signing-key.ts'
import { CHALLENGE_LIFETIME } from './challenge.ts'
import type { Lifetimes } from './deps.ts'
import type { KeyBook } from './ports.ts'

/**
 * The kinds of which there is always a key. `sign` is the last one to be made: a node that finds it in a new store finds all the
 * others too.
 */
const KEY_KINDS: readonly KeyKind[] = [...Object.values(SIGNING_KINDS), 'seal', 'mac', 'sign']

export type KeyKeeping = {
  book: KeyBook
  wrap: KeyWrap
  signingAlgorithm: SigningAlgorithm
  /** seconds after which a key is followed by the next */
  rotateAfter: number
  lifetimes: Lifetimes
  now: () => number
}

/** The stored keys do not open with this `GRANTOR_SECRET`. */
export class WrongKeyEncryptionKey extends Error {
  override readonly name = 'WrongKeyEncryptionKey'
}

/** Loads the store's keys into the ring, making the first of each kind where there is none. */
export async function loadKeys(keeping: KeyKeeping, ring: KeyRing): Promise<void> {
  let records = await readKeys(keeping)
  const missing = KEY_KINDS.filter((kind) => livingKeys(records, kind).length === 0)
  const isNew = !records.some(({ kind }) => kind === 'sign')
  for (const kind of missing) {
    const key = await newKey(keeping, kind, nextNumber(records, kind))
    // No key set of a new store has been fetched. In a store that an earlier version has used, the key is announced like any other.
    // `taken` means that another node was first: its key is read below like any other.
    await keeping.book.insertKey({ ...key, startsAt: isNew ? 0 : key.createdAt + ANNOUNCED_FOR })
  }
  if (missing.length > 0) records = await readKeys(keeping)
  ring.replace(records.flatMap((record) => openKey(keeping.wrap, record)))
}

/** Stores the next key of a kind, announced from now on. `taken`: another node has just done the same. */
export async function rotateKey(keeping: KeyKeeping, kind: KeyKind, announcedFor = ANNOUNCED_FOR): Promise<KeyRecord | 'taken'> {
  return storeNext(keeping, await readKeys(keeping), { kind, announcedFor })
}

/** `records`: the keys by which the caller decided to rotate. If another node has rotated since, the number is taken. */
async function storeNext(
  keeping: KeyKeeping,
  records: KeyRecord[],
  { kind, announcedFor }: { kind: KeyKind; announcedFor: number },
): Promise<KeyRecord | 'taken'> {
  const made = await newKey(keeping, kind, nextNumber(records, kind))
  const key = { ...made, startsAt: made.createdAt + announcedFor }
  return (await keeping.book.insertKey(key)) === 'inserted' ? key : 'taken'
}

/** Rotates what is old enough or signs with another algorithm than the one set, and retires what has outlived all it made. */
export async function keepKeys(keeping: KeyKeeping): Promise<void> {
  const records = await readKeys(keeping)
  for (const kind of KEY_KINDS) {
    const [youngest, ...older] = livingKeys(records, kind)
    if (!youngest) continue
    const wrongAlgorithm = kind === 'sign' && youngest.algorithm !== keeping.signingAlgorithm
    if (wrongAlgorithm || youngest.createdAt + keeping.rotateAfter <= keeping.now())
      await storeNext(keeping, records, { kind, announcedFor: ANNOUNCED_FOR })
    for (const key of older) {
      const opens = opensUntil(keeping, records, key)
      if (opens !== null && opens <= keeping.now()) await keeping.book.retireKey(key.id, key.kind, keeping.now())
    }
  }
}

export type RetireOutcome =
  | { kind: 'retired' }
  | { kind: 'unknown' }
  | { kind: 'still_makes' }
  | { kind: 'still_opens'; until: number }

/**
 * Retires a key for good. Refused while it makes, or while something it made may still be alive, unless `atOnce`:
 * then a successor starts immediately and all the key made stops working (for a key that leaked).
 */
export async function retireKey(keeping: KeyKeeping, keyId: string, atOnce: boolean): Promise<RetireOutcome> {
  const records = await keeping.book.listKeys()
  const key = records.find((record) => record.id === keyId && record.retiredAt === null)
  if (!key) return { kind: 'unknown' }
  const opens = opensUntil(keeping, records, key)
  if (!atOnce && opens === null) return { kind: 'still_makes' }
  if (!atOnce && opens !== null && opens > keeping.now()) return { kind: 'still_opens', until: opens }
  if (opens === null && key.startsAt <= keeping.now()) await rotateKey(keeping, key.kind, 0)
  await keeping.book.retireKey(key.id, key.kind, keeping.now())
  return { kind: 'retired' }
}

/**
 * Puts a new key in place of each kind's, at once, and retires all others. Returns how many were retired. The earlier keys need
 * not open.
 */
export async function replaceKeys(keeping: KeyKeeping): Promise<number> {
  const records = await keeping.book.listKeys()
  const before = records.filter((key) => key.retiredAt === null)
  // The new ones first: broken off in between, no kind is left without a key.
  for (const kind of KEY_KINDS) await storeNext(keeping, records, { kind, announcedFor: 0 })
  for (const key of before) await keeping.book.retireKey(key.id, key.kind, keeping.now())
  return before.length
}

/**
 * Wraps every living key with the present secret, and reports each. A key is one conditional update, so this may be broken off,
 * repeated, and run while nodes serve. `left` counts keys that a node with the previous secret made meanwhile.
 */
export async function rewrapKeys(
  keeping: KeyKeeping,
  report: (key: KeyRecord) => void,
): Promise<{ current: number; left: number }> {
  const { book, wrap } = keeping
  for (const record of await readKeys(keeping)) {
    const material = materialOf(wrap, record)
    if (!material || !record.wrapped || isCurrent(wrap, record)) continue
    const outcome = await book.rewrapKey(record, record.wrapped, wrap.wrap(material, record.id, record.kind))
    if (outcome === 'rewrapped') report(record)
  }
  const living = (await readKeys(keeping)).filter((record) => record.retiredAt === null)
  const current = living.filter((record) => isCurrent(wrap, record)).length
  return { current, left: living.length - current }
}

function isCurrent(wrap: KeyWrap, { wrapped, id, kind }: KeyRecord): boolean {
  return wrapped !== null && wrap.isCurrent(wrapped, id, kind)
}

export type KeyState = 'announced' | 'makes' | 'opens' | 'retired'

/** Where a key stands in its life; for `keys list`. */
export function keyState(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord): KeyState {
  if (key.retiredAt !== null) return 'retired'
  if (key.startsAt > keeping.now()) return 'announced'
  return opensUntil(keeping, records, key) === null ? 'makes' : 'opens'
}

/** Epoch seconds until which something this key made may live; null while it makes or is yet to. */
export function opensUntil(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord): number | null {
  const started = livingKeys(records, key.kind).filter((each) => each.startsAt <= keeping.now())
  // The oldest of those that started after it: that is when it stopped making.
  const successor = started.findLast((each) => each.number > key.number)
  // Nodes and caches may be a little behind, so a minute more than the longest life.
  return successor ? successor.startsAt + longestLife(keeping.lifetimes, key.kind) + ANNOUNCED_FOR : null
}

function longestLife(lifetimes: Lifetimes, kind: KeyKind): number {
  switch (kind) {
    case 'sign':
    case 'sign_es256':
    case 'sign_rs256':
    case 'sign_eddsa':
      return lifetimes.accessToken
    case 'seal':
      // Receipts are sealed too, and shown until what they allow has ended.
      return Math.max(CHALLENGE_LIFETIME, lifetimes.code, lifetimes.grant)
    case 'mac':
      // A refresh token that was rotated long ago must still be known, to end its grant when it is replayed.
      return lifetimes.grant
  }
}

function nextNumber(records: KeyRecord[], kind: KeyKind): number {
  return Math.max(0, ...records.filter((record) => record.kind === kind).map((record) => record.number)) + 1
}

/** Youngest first. */
function livingKeys(records: KeyRecord[], kind: KeyKind): KeyRecord[] {
  return records.filter((record) => record.kind === kind && record.retiredAt === null).sort((a, b) => b.number - a.number)
}

const ALGORITHMS = {
  sign_es256: 'ES256',
  sign_rs256: 'RS256',
  sign_eddsa: 'EdDSA',
  seal: 'AES-256-GCM',
  mac: 'HMAC-SHA-256',
} as const

/** `createdAt` is the moment at which the key is ready to be stored: its announcement begins then. */
async function newKey(keeping: KeyKeeping, kind: KeyKind, number: number): Promise<Omit<KeyRecord, 'startsAt'>> {
  const id = randomBytes(5).toString('hex')
  const algorithm = kind === 'sign' ? keeping.signingAlgorithm : ALGORITHMS[kind]
  const secret = algorithm === 'AES-256-GCM' || algorithm === 'HMAC-SHA-256'
  const material = secret ? randomBytes(32) : await newSigningMaterial(algorithm)
  const wrapped = keeping.wrap.wrap(material, id, kind)
  return { id, kind, number, algorithm, wrapped, createdAt: keeping.now(), retiredAt: null }
}

/**
 * The stored keys, once all of them were found to open with this secret: a key that was made with another secret would stop
 * every node at its next start.
 */
async function readKeys(keeping: KeyKeeping): Promise<KeyRecord[]> {
  const records = await keeping.book.listKeys()
  for (const record of records) materialOf(keeping.wrap, record)
  return records
}

/** Null for a retired key. */
function materialOf(wrap: KeyWrap, { wrapped, id, kind, retiredAt }: KeyRecord): Uint8Array | null {
  if (retiredAt !== null || wrapped === null) return null
  const material = wrap.unwrap(wrapped, id, kind)
  if (!material) throw new WrongKeyEncryptionKey('The keys in this store were wrapped with another GRANTOR_SECRET.')
  return material
}

function openKey(wrap: KeyWrap, record: KeyRecord): OpenKey[] {
  const material = materialOf(wrap, record)
  if (!material) return []
  const { id, kind, startsAt } = record
  if (kind === 'seal' || kind === 'mac') return [openSecretKey(material, kind, id, startsAt)]
  return [openSigningKey(material, id, record.algorithm as SigningAlgorithm, startsAt, kind)]
}
