/**
 * The login challenge: a whole authorization request, sealed, together with everything the text to sign is made of.
 * It is bound to the browser that made the request, and worthless in any other.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { KeyRing } from '../keys/key-ring.ts'
import { macOf } from '../keys/mac.ts'
import { seal, unseal } from '../keys/sealed.ts'
import { transliterateName } from '../wallet/plain-words.ts'
import { CURRENT_TEMPLATE } from '../wallet/sign-in-message.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

/** Seconds in which a login must be signed. */
export const CHALLENGE_LIFETIME = 600
const CHALLENGE_AT_MOST = 4096

export type Challenge = {
  /** of the text to sign */
  template: number
  /** 128 random bits in hex: the text's `Nonce` (ERC-4361), and what makes this challenge this one */
  nonce: string
  issuedAt: number
  /** the end of the grant that the text names */
  until: number
  /** as the text names it */
  clientName: string
  browserHash: string
  /** names the key this login's session id is derived with */
  sessionKeyId: string
  request: AuthorizationRequest
}

export function newBrowserKey(): string {
  return randomBytes(32).toString('base64url')
}

/** Seals a request into a challenge for one browser; null where it grows too long for a URL. */
export function sealChallenge(deps: Deps, client: Client, request: AuthorizationRequest, browserKey: string): string | null {
  const at = deps.now()
  const challenge: Challenge = {
    template: CURRENT_TEMPLATE,
    nonce: randomBytes(16).toString('hex'),
    issuedAt: at,
    until: at + deps.settings.lifetimes.grant,
    clientName: transliterateName(client.name),
    browserHash: hashBrowserKey(browserKey),
    sessionKeyId: deps.keys.maker('mac').id,
    request,
  }
  const sealed = seal(deps.keys, 'grl', pack(challenge))
  return sealed.length <= CHALLENGE_AT_MOST ? sealed : null
}

/** What was sealed, whatever its age; undefined for anything this service did not seal. */
export function openChallenge(ring: KeyRing, text: string): Challenge | undefined {
  const packed = unseal(ring, 'grl', text)
  return packed === undefined ? undefined : unpack(packed as Packed)
}

export function challengeExpiresAt(challenge: Challenge): number {
  return challenge.issuedAt + CHALLENGE_LIFETIME
}

export function isOfBrowser(challenge: Challenge, browserKey: string | null): boolean {
  return browserKey !== null && hashBrowserKey(browserKey) === challenge.browserHash
}

/**
 * The id of the one session this challenge can start: only the service can compute it, and its insert is the
 * once-only gate of the login. Undefined where the key is retired.
 */
export function sessionIdOf(ring: KeyRing, challenge: Challenge): string | undefined {
  const key = ring.opener('mac', challenge.sessionKeyId)
  return key && macOf(key, 'session id', Buffer.from(`${challenge.nonce}.${challenge.browserHash}`)).toString('base64url')
}

function hashBrowserKey(browserKey: string): string {
  return createHash('sha256').update(browserKey).digest().subarray(0, 16).toString('base64url')
}

// Packed as an array: the names would cost a third of the URL.
type Packed = [
  number,
  string,
  number,
  number,
  string,
  string,
  string,
  string,
  string,
  string,
  string[],
  string | null,
  0 | 1,
  string | null,
]

function pack({ request, ...challenge }: Challenge): Packed {
  return [
    challenge.template,
    challenge.nonce,
    challenge.issuedAt,
    challenge.until,
    challenge.clientName,
    challenge.browserHash,
    challenge.sessionKeyId,
    request.clientId,
    request.redirectUri,
    request.scopes.join(' '),
    request.resources,
    request.state,
    request.answersIss ? 1 : 0,
    request.codeChallenge,
  ]
}

function unpack(packed: Packed): Challenge {
  const [template, nonce, issuedAt, until, clientName, browserHash, sessionKeyId, ...rest] = packed
  const [clientId, redirectUri, scopes, resources, state, answersIss, codeChallenge] = rest
  return {
    template,
    nonce,
    issuedAt,
    until,
    clientName,
    browserHash,
    sessionKeyId,
    request: { clientId, redirectUri, scopes: scopes.split(' '), resources, state, answersIss: answersIss === 1, codeChallenge },
  }
}
