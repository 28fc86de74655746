/** One message of the feed (docs/reference/feed.md): the signature, the audience, and the claims as typed values. */
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { WORDS } from './entries.ts'
import { FeedFault } from './problem.ts'

/** Entries of 16 bytes, each four words, and the time in epoch seconds after which they may be forgotten. */
type EntriesUntil = { forgetAt: number; entries: Uint32Array }

/** `at`, `from` and `until` are in milliseconds, `lifetime` is in seconds. */
export type FeedMessage = {
  at: number
  /** in the first message of a response */
  nonce?: string | undefined
  feed: string
  /** null in a snapshot */
  from: number | null
  until: number
  lifetime: number
  part: { index: number; of: number } | undefined
  /** names the snapshot of which the message is a part */
  snapshot?: string | undefined
  keys: string[]
  ended: EntriesUntil[]
  clients: EntriesUntil[]
}

/** `algorithms` are those that the issuer signs with. */
export type ExpectedMessage = { issuer: string; audience: string; algorithms: readonly string[]; getKey: JWTVerifyGetKey }

/**
 * Verifies and reads a message.
 *
 * @throws FeedFault if the message is not one of this issuer for this resource; the error of `getKey` if the keys cannot be fetched
 */
export async function readFeedMessage(text: string, expected: ExpectedMessage): Promise<FeedMessage> {
  const { issuer, audience, algorithms, getKey } = expected
  try {
    const { payload } = await jwtVerify(text, getKey, { typ: 'endings+jwt', algorithms: [...algorithms], issuer, audience })
    return readClaims(payload)
  } catch (error) {
    if (error instanceof errors.JWTClaimValidationFailed) throw new FeedFault('message_refused', `claim ${error.claim}`)
    if (error instanceof errors.JOSEError) throw new FeedFault('message_refused', error.code)
    throw error
  }
}

function readClaims(claims: JWTPayload): FeedMessage {
  const { feed, from, part, nonce, snapshot } = claims
  const [at, until] = [readTime(claims, 'at'), readTime(claims, 'until')]
  if (typeof feed !== 'string' || feed === '' || feed.length > 256) throw malformed('feed')
  const message: FeedMessage = {
    at,
    nonce: typeof nonce === 'string' ? nonce : undefined,
    feed,
    from: from === null ? null : readTime(claims, 'from'),
    until,
    lifetime: readTime(claims, 'lifetime'),
    part: part === undefined ? undefined : readPart(part),
    snapshot: typeof snapshot === 'string' ? snapshot : undefined,
    keys: readKeys(claims.keys),
    ended: readEntries(claims, 'ended'),
    clients: readEntries(claims, 'clients'),
  }
  // A promise about the future would keep the feed fresh without any news.
  if (until > at) throw malformed('until')
  if ((message.from === null) !== (message.part !== undefined)) throw malformed('part')
  return message
}

function readTime(claims: JWTPayload, name: 'at' | 'from' | 'until' | 'lifetime'): number {
  const value = claims[name]
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw malformed(name)
  return value as number
}

function readPart(part: unknown): { index: number; of: number } {
  const [index, of, ...more] = Array.isArray(part) ? (part as unknown[]) : []
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(of) || more.length > 0) throw malformed('part')
  return { index: index as number, of: of as number }
}

function readKeys(keys: unknown): string[] {
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) throw malformed('keys')
  return keys
}

function readEntries(claims: JWTPayload, name: 'ended' | 'clients'): EntriesUntil[] {
  const value = claims[name]
  if (value === undefined) return []
  if (typeof value !== 'object' || value === null) throw malformed(name)
  return Object.entries(value).map(([time, text]) => {
    const entries = typeof text === 'string' ? wordsOf(Buffer.from(text, 'base64url')) : undefined
    // Two texts of different lengths must not be one list: a part of the list would be missing.
    if (!entries || Buffer.byteLength(text as string) !== Math.ceil((entries.byteLength * 4) / 3)) throw malformed(name)
    if (!/^\d{1,12}$/.test(time)) throw malformed(name)
    return { forgetAt: Number(time), entries }
  })
}

/** The words of whole entries, or undefined if the last entry is not complete. */
export function wordsOf(bytes: Buffer): Uint32Array | undefined {
  if (bytes.length % (WORDS * 4) !== 0) return undefined
  const words = new Uint32Array(bytes.length / 4)
  for (let word = 0; word < words.length; word++) words[word] = bytes.readUInt32BE(word * 4)
  return words
}

function malformed(claim: string): FeedFault {
  return new FeedFault('message_refused', `claim ${claim}`)
}
