/** The entries of the feed that can concern one token. */
import { createHash } from 'node:crypto'
import { WORDS } from './entries.ts'
import { wordsOf } from './message.ts'

/** Entries of four words each. Times are epoch seconds. */
export type TokenIds = {
  keyId: string
  issuedAt: number
  expiresAt: number
  /** introspection decides if the feed has one of them */
  clients: Uint32Array
  /** the token has ended if the feed has one of them */
  ended: Uint32Array
}

/** What is read of a token. */
type Token = {
  clientId: string
  tokenId: string
  issuedAt: number
  expiresAt: number
  claims: Readonly<Record<string, unknown>>
}

/** Undefined if the token names something that cannot be an entry: then only introspection can decide. */
export function readTokenIds({ claims, clientId, tokenId, issuedAt, expiresAt }: Token, keyId: string): TokenIds | undefined {
  const actors = readActors(claims.act)
  const ended = readEndedIds(claims, { clientId, tokenId })
  if (!actors || !ended) return undefined
  const clients = [clientId, ...actors].map(hashOf)
  return { keyId, issuedAt, expiresAt, clients: joinEntries(clients), ended: joinEntries(ended) }
}

function readEndedIds(
  { grant_id: grantId, exchanged_from: exchangedFrom = [] }: Token['claims'],
  { clientId, tokenId }: { clientId: string; tokenId: string },
): Buffer[] | undefined {
  if (grantId === undefined) return [hashOf(`${clientId}\0${tokenId}`)]
  if (!Array.isArray(exchangedFrom)) return undefined
  const ids = [grantId, tokenId, ...(exchangedFrom as unknown[])].map(uuidOf)
  return ids.every((id) => id !== undefined) ? ids : undefined
}

/** The clients of the chain (RFC 8693 §4.1), the latest first. Undefined if the chain is malformed. */
function readActors(act: unknown): string[] | undefined {
  const found: string[] = []
  for (let actor = act; actor !== undefined; actor = (actor as { act?: unknown }).act) {
    if (typeof actor !== 'object' || actor === null) return undefined
    const { sub } = actor as { sub?: unknown }
    if (typeof sub !== 'string') return undefined
    found.push(sub)
  }
  return found
}

function uuidOf(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return undefined
  return Buffer.from(text.replaceAll('-', ''), 'hex')
}

function hashOf(text: string): Buffer {
  return createHash('sha256')
    .update(text)
    .digest()
    .subarray(0, WORDS * 4)
}

function joinEntries(entries: Buffer[]): Uint32Array {
  return wordsOf(Buffer.concat(entries)) ?? new Uint32Array()
}
