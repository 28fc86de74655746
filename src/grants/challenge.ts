/**
 * The login challenge: what a sign-in is for, sealed, together with everything the text to sign is made of.
 * It is bound to the browser that asked, and worthless in any other.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { KeyRing } from '../keys/key-ring.ts'
import { macOf } from '../keys/mac.ts'
import { seal, unseal } from '../keys/sealed.ts'
import type { ResponseMode } from '../oauth/response-mode.ts'
import { ACCOUNT_TEMPLATE, END_EVERYTHING_TEMPLATE } from '../wallet/account-message.ts'
import type { Address } from '../wallet/address.ts'
import { consentTemplateOf } from '../wallet/consent-message.ts'
import { transliterateName } from '../wallet/plain-words.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'
import { requestOfLogin } from './pushed-request.ts'

/** Seconds in which a login must be signed. */
export const CHALLENGE_LIFETIME = 600
const CHALLENGE_AT_MOST = 4096

/** Why a wallet is asked to sign: for an app, to see its own account page, or to end everything without a session. */
export type LoginPurpose = { kind: 'app'; request: AuthorizationRequest } | { kind: 'account' } | { kind: 'end_everything' }

export type Challenge = {
  /** of the text to sign */
  template: number
  /** 128 random bits in hex: the text's `Nonce` (ERC-4361), and what makes this challenge this one */
  nonce: string
  issuedAt: number
  /** the end of the grant that the text names */
  until: number
  /** as the text names it; empty where there is no app */
  clientName: string
  /** of the browser it is for */
  browserHash: string
  /** of the browser that asked: another one where this was taken up on another device */
  askedBy: string
  /** names the key this login's session id is derived with */
  sessionKeyId: string
  /** whether it was taken up on another device than the one that asked: that one never gets a code */
  elsewhere: boolean
  purpose: LoginPurpose
}

export function newBrowserKey(): string {
  return randomBytes(32).toString('base64url')
}

/** Seals a purpose into a challenge for one browser; null where it grows too long for a URL. */
export function sealChallenge(deps: Deps, purpose: LoginPurpose, client: Client | null, browserKey: string): string | null {
  const at = deps.now()
  const browserHash = hashBrowserKey(browserKey)
  const challenge = {
    template: templateOf(purpose),
    nonce: randomBytes(16).toString('hex'),
    issuedAt: at,
    until: at + deps.settings.lifetimes.grant,
    clientName: client ? transliterateName(client.name) : '',
    browserHash,
    askedBy: browserHash,
    sessionKeyId: deps.keys.maker('mac').id,
    elsewhere: false,
    purpose,
  }
  return sealFor(deps, challenge, purpose.kind === 'app' ? purpose.request.pushedId : null)
}

/**
 * The same challenge for another device, with the same text and the same end. The app's `state` and verifier live in the
 * browser that asked: who takes its link up learns neither.
 */
export function resumeChallenge(
  deps: Deps,
  challenge: Challenge,
  asked: AuthorizationRequest,
  browserKey: string,
): string | null {
  const purpose = {
    kind: 'app' as const,
    request: { ...asked, state: null, codeChallenge: null, nonce: null, pushedId: null },
  }
  return sealFor(deps, { ...challenge, browserHash: hashBrowserKey(browserKey), elsewhere: true, purpose }, asked.pushedId)
}

/** What was sealed, whatever its age; undefined for anything this service did not seal, or of which the pushed request is gone. */
export async function openChallenge(deps: Deps, text: string): Promise<Challenge | undefined> {
  const packed = unseal(deps.keys, 'grl', text) as Packed | undefined
  const purpose = packed && (await openPurpose(deps, packed))
  return purpose && unpack(packed, purpose)
}

async function openPurpose(deps: Deps, packed: Packed): Promise<LoginPurpose | undefined> {
  const purpose = packed[8]
  if (typeof purpose === 'string' || Array.isArray(purpose)) return unpackPurpose(purpose)
  const request = await requestOfLogin(deps, purpose.pushed)
  return request ? { kind: 'app', request } : undefined
}

export function challengeExpiresAt(challenge: Challenge): number {
  return challenge.issuedAt + CHALLENGE_LIFETIME
}

export function isOfBrowser(challenge: Challenge, browserKey: string | null): boolean {
  return browserKey !== null && hashBrowserKey(browserKey) === challenge.browserHash
}

/** ERC-4361's `Request ID`, a UUID that follows from the nonce; a receipt is kept under it. */
export function requestIdOf(challenge: Challenge): string {
  const hex = createHash('sha256').update(`request ${challenge.nonce}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * The id of the one session that this challenge can start, on whichever device. Only the service can compute the id, and only
 * the browser whose session is inserted receives it: the insert is the once-only gate of the login. Undefined if the key is retired.
 */
export function sessionIdOf(ring: KeyRing, challenge: Challenge): string | undefined {
  const key = ring.opener('mac', challenge.sessionKeyId)
  return key && macOf(key, 'session id', Buffer.from(challenge.nonce)).toString('base64url')
}

function templateOf(purpose: LoginPurpose): number {
  if (purpose.kind === 'app') return consentTemplateOf(purpose.request.redirectUri)
  return purpose.kind === 'account' ? ACCOUNT_TEMPLATE : END_EVERYTHING_TEMPLATE
}

/** A request that is too long to be carried is looked up where it was pushed. */
function sealFor(deps: Deps, challenge: Challenge, pushedId: string | null): string | null {
  const whole = seal(deps.keys, 'grl', pack(challenge, packPurpose(challenge.purpose)))
  if (whole.length <= CHALLENGE_AT_MOST) return whole
  return pushedId === null ? null : seal(deps.keys, 'grl', pack(challenge, { pushed: pushedId }))
}

function hashBrowserKey(browserKey: string): string {
  return createHash('sha256').update(browserKey).digest().subarray(0, 16).toString('base64url')
}

// Packed as an array: the names would cost a third of the URL.
type PackedRequest = [string, string, string, string[], string | null, 0 | 1, string | null, PackedExtras?]
// What few requests have: by a letter each, and only where it is there.
type PackedExtras = { n?: string; d?: string; p?: string; h?: Address; o?: 1; m?: ResponseMode }
type PackedPurpose = PackedRequest | 'account' | 'end_everything'
type Pushed = { pushed: string }
type Packed = [number, string, number, number, string, string, string, 0 | string, PackedPurpose | Pushed]

function pack(challenge: Challenge, purpose: PackedPurpose | Pushed): Packed {
  return [
    challenge.template,
    challenge.nonce,
    challenge.issuedAt,
    challenge.until,
    challenge.clientName,
    challenge.browserHash,
    challenge.sessionKeyId,
    challenge.elsewhere ? challenge.askedBy : 0,
    purpose,
  ]
}

function unpack(packed: Packed, purpose: LoginPurpose): Challenge {
  const [template, nonce, issuedAt, until, clientName, browserHash, sessionKeyId, asker] = packed
  const elsewhere = asker !== 0
  const browsers = { browserHash, askedBy: elsewhere ? asker : browserHash, elsewhere }
  return { template, nonce, issuedAt, until, clientName, ...browsers, sessionKeyId, purpose }
}

function packPurpose(purpose: LoginPurpose): PackedPurpose {
  if (purpose.kind !== 'app') return purpose.kind
  const { clientId, redirectUri, scopes, resources, state, answersIss, codeChallenge } = purpose.request
  const usual: PackedRequest = [clientId, redirectUri, scopes.join(' '), resources, state, answersIss ? 1 : 0, codeChallenge]
  const extras = packExtras(purpose.request)
  if (Object.keys(extras).length > 0) usual.push(extras)
  return usual
}

/** `maxAge` is not among them: the login that the challenge is for satisfies it. */
function packExtras(request: AuthorizationRequest): PackedExtras {
  const { nonce, dpopJkt, pushedId, loginHint, onlyHinted, responseMode } = request
  return {
    ...(nonce === null ? {} : { n: nonce }),
    ...(dpopJkt === null ? {} : { d: dpopJkt }),
    ...(pushedId === null ? {} : { p: pushedId }),
    ...(loginHint === null ? {} : { h: loginHint }),
    ...(onlyHinted ? { o: 1 as const } : {}),
    ...(responseMode === 'query' ? {} : { m: responseMode }),
  }
}

function unpackPurpose(packed: PackedPurpose): LoginPurpose {
  if (typeof packed === 'string') return { kind: packed }
  const [clientId, redirectUri, scopes, resources, state, answersIss, codeChallenge, extras = {}] = packed
  const request = {
    clientId,
    redirectUri,
    scopes: scopes.split(' '),
    resources,
    state,
    answersIss: answersIss === 1,
    codeChallenge,
    nonce: extras.n ?? null,
    maxAge: null,
    dpopJkt: extras.d ?? null,
    pushedId: extras.p ?? null,
    loginHint: extras.h ?? null,
    onlyHinted: extras.o === 1,
    responseMode: extras.m ?? ('query' as const),
  }
  return { kind: 'app', request }
}
