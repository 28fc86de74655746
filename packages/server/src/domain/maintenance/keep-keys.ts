/**
 * The life of a key: stored, announced, used for making, used for opening only, retired.
 *
 * A new key is stored 60 s before the first use, so that every node and every cached JWK Set has the key by then. The first keys of a
 * new store are an exception: they are stored before any node listens. A key opens texts and tokens until the last one has expired.
 */
import { randomBytes } from 'node:crypto'
import {
  ANNOUNCED_FOR,
  type KeyKind,
  type KeyRecord,
  KeyRing,
  type OpenKey,
  SIGNING_KINDS,
} from '../../protocol/keys/key-ring.ts'
import type { KeyWrap } from '../../protocol/keys/key-wrap.ts'
import { openSecretKey } from '../../protocol/keys/secret-key.ts'
import { newSigningMaterial, openSigningKey, type SigningAlgorithm } from '../../protocol/keys/signing-key.ts'
import { CHALLENGE_LIFETIME, type Lifetimes } from '../model/deps.ts'
import type { KeyStore } from '../model/operator-store.ts'

/** The kinds that always have a key. `sign` is created last: if a node finds this kind in a new store, all other kinds exist too. */
const KEY_KINDS: readonly KeyKind[] = [...Object.values(SIGNING_KINDS), 'seal', 'mac', 'sign']

export type KeyKeeping = {
  store: KeyStore
  wrap: KeyWrap
  signingAlgorithm: SigningAlgorithm
  /** seconds from the creation of a key to the creation of the next one */
  rotateAfter: number
  lifetimes: Lifetimes
  now: () => number
}

/** The stored keys do not open with this `GRANTOR_SECRET`. */
export class WrongKeyEncryptionKey extends Error {
  override readonly name = 'WrongKeyEncryptionKey'
}

/** Loads the keys of the store into the ring. Creates a key for each kind that has none. */
export async function loadKeys(keeping: KeyKeeping, ring: KeyRing): Promise<void> {
  let records = await readKeys(keeping)
  const missing = KEY_KINDS.filter((kind) => livingKeys(records, kind).length === 0)
  const isNew = !records.some(({ kind }) => kind === 'sign')
  for (const kind of missing) {
    const key = await newKey(keeping, kind, nextNumber(records, kind))
    // No client has fetched the key set of a new store. In any other store the key is announced first, for example if a new version has one more kind.
    // `taken` means that another node was faster. The key of that node is read below.
    await keeping.store.insertKey({ ...key, startsAt: isNew ? 0 : key.createdAt + ANNOUNCED_FOR })
  }
  if (missing.length > 0) records = await readKeys(keeping)
  ring.replace(records.flatMap((record) => openKey(keeping.wrap, record)))
}

/** The stored keys in a ring. Creates no key. */
export async function readKeyRing(keeping: KeyKeeping): Promise<KeyRing> {
  const ring = new KeyRing(keeping.now)
  ring.replace((await readKeys(keeping)).flatMap((record) => openKey(keeping.wrap, record)))
  return ring
}

/** Stores the next key of a kind, which is announced from now on. `taken`: another node has just stored one. */
export async function rotateKey(keeping: KeyKeeping, kind: KeyKind, announcedFor = ANNOUNCED_FOR): Promise<KeyRecord | 'taken'> {
  return storeNext(keeping, await readKeys(keeping), { kind, announcedFor })
}

/** `records` are the keys on which the decision to rotate was based. If another node has rotated since, the next number is taken. */
async function storeNext(
  keeping: KeyKeeping,
  records: KeyRecord[],
  { kind, announcedFor }: { kind: KeyKind; announcedFor: number },
): Promise<KeyRecord | 'taken'> {
  const made = await newKey(keeping, kind, nextNumber(records, kind))
  const key = { ...made, startsAt: made.createdAt + announcedFor }
  return (await keeping.store.insertKey(key)) === 'inserted' ? key : 'taken'
}

/** Rotates keys that are old enough or that sign with another algorithm than the setting, and retires keys that are no longer needed. */
export async function keepKeys(keeping: KeyKeeping): Promise<void> {
  const records = await readKeys(keeping)
  for (const kind of KEY_KINDS) {
    const [youngest, ...older] = livingKeys(records, kind)
    if (!youngest) continue
    const wrongAlgorithm = kind === 'sign' && youngest.algorithm !== keeping.signingAlgorithm
    if (wrongAlgorithm || nextKeyAt(keeping, youngest) <= keeping.now())
      await storeNext(keeping, records, { kind, announcedFor: ANNOUNCED_FOR })
    for (const key of older) {
      const opens = opensUntil(keeping, records, key)
      if (opens !== null && opens <= keeping.now()) await keeping.store.retireKey(key.id, key.kind, keeping.now())
    }
  }
}

export type RetireOutcome =
  | { kind: 'retired' }
  | { kind: 'unknown' }
  | { kind: 'still_makes' }
  | { kind: 'still_opens'; until: number }

/**
 * Retires a key permanently. Refused while the key is used for making, or while something made with the key has not expired. With `atOnce`
 * (for a key that leaked) a new key starts immediately, and everything that the old key made becomes invalid.
 */
export async function retireKey(keeping: KeyKeeping, keyId: string, { atOnce }: { atOnce: boolean }): Promise<RetireOutcome> {
  const records = await keeping.store.listKeys()
  const key = records.find((record) => record.id === keyId && record.retiredAt === null)
  if (!key) return { kind: 'unknown' }
  const opens = opensUntil(keeping, records, key)
  if (!atOnce && opens === null) return { kind: 'still_makes' }
  if (!atOnce && opens !== null && opens > keeping.now()) return { kind: 'still_opens', until: opens }
  if (opens === null && key.startsAt <= keeping.now()) await rotateKey(keeping, key.kind, 0)
  await keeping.store.retireKey(key.id, key.kind, keeping.now())
  return { kind: 'retired' }
}

/** Replaces the key of each kind immediately and retires all others. Returns how many were retired. The old keys need not unwrap. */
export async function replaceKeys(keeping: KeyKeeping): Promise<number> {
  const records = await keeping.store.listKeys()
  const before = records.filter((key) => key.retiredAt === null)
  // The new keys are stored first, so that an interruption leaves no kind without a key.
  for (const kind of KEY_KINDS) await storeNext(keeping, records, { kind, announcedFor: 0 })
  for (const key of before) await keeping.store.retireKey(key.id, key.kind, keeping.now())
  return before.length
}

/**
 * Wraps every key that is not retired with the current secret, and reports each. Each key is one conditional update, so this function
 * can be interrupted and repeated, and nodes can serve meanwhile. `left` counts keys that a node with the previous secret stored meanwhile.
 */
export async function rewrapKeys(
  keeping: KeyKeeping,
  report: (key: KeyRecord) => void,
): Promise<{ current: number; left: number }> {
  const { store, wrap } = keeping
  for (const record of await readKeys(keeping)) {
    const material = materialOf(wrap, record)
    if (!material || !record.wrapped || isCurrent(wrap, record)) continue
    const outcome = await store.rewrapKey(record, record.wrapped, wrap.wrap(material, record.id, record.kind))
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

/** The state of a key, for `keys list`. */
export function keyState(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord): KeyState {
  if (key.retiredAt !== null) return 'retired'
  if (key.startsAt > keeping.now()) return 'announced'
  return opensUntil(keeping, records, key) === null ? 'makes' : 'opens'
}

/** Epoch seconds until which something that this key made may be valid; null if the key is still used for making or has not started. */
export function opensUntil(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord): number | null {
  const started = livingKeys(records, key.kind).filter((each) => each.startsAt <= keeping.now())
  // The key stopped making when the next started key replaced it.
  const successor = started.findLast((each) => each.number > key.number)
  // Nodes and caches may be late, so one minute is added to the longest lifetime.
  return successor ? successor.startsAt + longestLife(keeping.lifetimes, key.kind) + ANNOUNCED_FOR : null
}

function nextKeyAt({ rotateAfter }: Pick<KeyKeeping, 'rotateAfter'>, { createdAt }: KeyRecord): number {
  return createdAt + rotateAfter
}

/** When the next key of the kind is made. Null if the key is not the youngest of its kind, or is retired. */
export function rotatesAt(keeping: KeyKeeping, records: KeyRecord[], key: KeyRecord): number | null {
  return livingKeys(records, key.kind)[0]?.id === key.id ? nextKeyAt(keeping, key) : null
}

function longestLife(lifetimes: Lifetimes, kind: KeyKind): number {
  switch (kind) {
    case 'sign':
    case 'sign_es256':
    case 'sign_rs256':
    case 'sign_eddsa':
      return lifetimes.longest.accessToken
    case 'seal':
      // Receipts are sealed too, and are shown until the consent ends.
      return Math.max(CHALLENGE_LIFETIME, lifetimes.code, lifetimes.longest.grant)
    case 'mac':
      // An old refresh token must be recognised, so that a replay ends the grant.
      return lifetimes.longest.grant
  }
}

function nextNumber(records: KeyRecord[], kind: KeyKind): number {
  return Math.max(0, ...records.filter((record) => record.kind === kind).map((record) => record.number)) + 1
}

/** Newest first. */
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

/** `createdAt` is taken after the key was generated, because the announcement begins when the key is stored. */
async function newKey(keeping: KeyKeeping, kind: KeyKind, number: number): Promise<Omit<KeyRecord, 'startsAt'>> {
  const id = randomBytes(5).toString('hex')
  const algorithm = kind === 'sign' ? keeping.signingAlgorithm : ALGORITHMS[kind]
  const secret = algorithm === 'AES-256-GCM' || algorithm === 'HMAC-SHA-256'
  const material = secret ? randomBytes(32) : await newSigningMaterial(algorithm)
  const wrapped = keeping.wrap.wrap(material, id, kind)
  return { id, kind, number, algorithm, wrapped, createdAt: keeping.now(), retiredAt: null }
}

/** The stored keys. Throws if this secret does not unwrap all of them: a key with another secret would stop every node at the next start. */
async function readKeys(keeping: KeyKeeping): Promise<KeyRecord[]> {
  const records = await keeping.store.listKeys()
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

export type KeyHealth = {
  /** keys that the secret does not open */
  locked: number
  /** keys that only the previous secret opens */
  wrappedBefore: number
  /** epoch seconds at which the oldest of the youngest keys of each kind is replaced; null if there are no keys */
  nextRotation: number | null
}

/** For `grantor doctor`. Creates and changes nothing. */
export async function keyHealth({ store, wrap, rotateAfter }: KeyKeeping): Promise<KeyHealth> {
  const records = await store.listKeys()
  const living = records.filter(({ retiredAt, wrapped }) => retiredAt === null && wrapped !== null)
  const isOpen = ({ wrapped, id, kind }: KeyRecord) => wrapped !== null && wrap.unwrap(wrapped, id, kind) !== null
  const opening = living.filter(isOpen)
  const youngest = KEY_KINDS.flatMap((kind) => livingKeys(records, kind)[0]?.createdAt ?? [])
  return {
    locked: living.length - opening.length,
    wrappedBefore: opening.filter((record) => !isCurrent(wrap, record)).length,
    nextRotation: youngest.length === 0 ? null : Math.min(...youngest) + rotateAfter,
  }
}
