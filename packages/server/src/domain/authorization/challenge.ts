/**
 * The login challenge: the sealed purpose of a sign-in, with everything that the text to sign contains. A challenge is bound to one
 * browser and cannot be used in another.
 */

import { createHash, randomBytes, randomInt } from 'node:crypto'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { macOf } from '../../protocol/keys/mac.ts'
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import type { ResponseMode } from '../../protocol/oauth/response-mode.ts'
import type { UiLocale } from '../../protocol/oauth/ui-locales.ts'
import { showUserCode, userCodeOf } from '../../protocol/oauth/user-code.ts'
import { ACCOUNT_TEMPLATE, END_EVERYTHING_TEMPLATE } from '../../protocol/wallet/account-message.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { APPROVAL_TEMPLATE } from '../../protocol/wallet/approval-message.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'
import { transliterateName } from '../../protocol/wallet/plain-words.ts'
import {
  DEVICE_LIMIT_TEMPLATE,
  SHORT_DEVICE_TEMPLATE,
  SHORT_LIMIT_TEMPLATE,
  SHORT_TEMPLATE,
  TWO_SCREENS_LIMIT_TEMPLATE,
  TWO_SCREENS_TEMPLATE,
} from '../../protocol/wallet/short-consent.ts'
import { lastUse } from '../approvals/state.ts'
import type { ApprovalRequest } from '../model/approval-request.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import { grantLifetime } from '../model/client-lifetimes.ts'
import { CHALLENGE_LIFETIME, type Deps } from '../model/deps.ts'
import type { DevicePlace, DeviceRequest } from '../model/device-request.ts'
import type { Client, ScopesByResource } from '../model/records.ts'
import { requestOfLogin } from './pushed-request.ts'

/** in characters */
const MAX_LENGTH = 4096
const NONCE_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** What the signature is for: an app's request, the request of a device, one action, the account page, or ending everything without a session. */
export type LoginPurpose =
  | { kind: 'app'; request: AuthorizationRequest }
  | { kind: 'device'; request: DeviceRequest }
  | { kind: 'approval'; approval: ApprovalRequest }
  | { kind: 'account' }
  | { kind: 'end_everything' }

/** The purposes in which the wallet consents to a client. */
export type ConsentPurpose = Extract<LoginPurpose, { kind: 'app' | 'device' }>

/** The templates of new challenges; of a consent the template without a limit, and then the one with a limit. */
const TEMPLATES = {
  app: [SHORT_TEMPLATE, SHORT_LIMIT_TEMPLATE],
  device: [SHORT_DEVICE_TEMPLATE, DEVICE_LIMIT_TEMPLATE],
  twoScreens: [TWO_SCREENS_TEMPLATE, TWO_SCREENS_LIMIT_TEMPLATE],
  approval: APPROVAL_TEMPLATE,
  account: ACCOUNT_TEMPLATE,
  end_everything: END_EVERYTHING_TEMPLATE,
} as const

/** The template of a new challenge. */
export function templateOf(purpose: LoginPurpose): number {
  if (purpose.kind !== 'app' && purpose.kind !== 'device') return TEMPLATES[purpose.kind]
  return TEMPLATES[purpose.kind][purpose.request.limit ? 1 : 0]
}

/** The template of the text if the user switched off the scope with the limit. */
export function templateWithoutLimit(template: number): number {
  const pair = [TEMPLATES.app, TEMPLATES.device, TEMPLATES.twoScreens].find(([, limited]) => limited === template)
  return pair ? pair[0] : template
}

export type Challenge = {
  /** the number of the template of the text to sign */
  template: number
  /** 131 random bits: the `Nonce` of the text (ERC-4361), which also identifies the challenge */
  nonce: string
  issuedAt: number
  /** the end that the text shows: of the grant, or of the time in which one action can be done */
  until: number
  /** the name that the text shows; empty without an app */
  clientName: string
  /** the hash of the key of the browser that can use the challenge */
  browserHash: string
  /** the hash of the key of the browser that requested the login; differs from `browserHash` if another device continues the login */
  requestedBy: string
  /** the id of the key from which the session id is derived */
  sessionKeyId: string
  /** true if another device continues the login: this device never gets a code, and gets a session unless the login is a cross-device login */
  elsewhere: boolean
  /** the network of the browser that requested the login, for the page on which the other device compares; null if there is no such page */
  place: DevicePlace | null
  purpose: LoginPurpose
}

export function newBrowserKey(): string {
  return randomBytes(32).toString('base64url')
}

/** The shortest text of letters and digits that has 128 random bits. */
function newNonce(): string {
  return Array.from({ length: 22 }, () => NONCE_LETTERS[randomInt(NONCE_LETTERS.length)]).join('')
}

/** Seals a purpose into a challenge for one browser; null if the challenge is too long for a URL. */
export function sealChallenge(
  deps: Deps,
  purpose: LoginPurpose,
  client: Client | null,
  { browserKey, place = null }: { browserKey: string; place?: DevicePlace | null },
): string | null {
  const at = deps.now()
  const browserHash = hashBrowserKey(browserKey)
  const { lifetimes } = deps.settings
  const challenge = {
    template: templateOf(purpose),
    nonce: newNonce(),
    issuedAt: at,
    until:
      purpose.kind === 'approval'
        ? lastUse(purpose.approval)
        : at + (client ? grantLifetime(lifetimes, client) : lifetimes.grant),
    clientName: client ? transliterateName(client.name) : '',
    browserHash,
    requestedBy: browserHash,
    sessionKeyId: deps.keys.maker('mac').id,
    elsewhere: false,
    place: deps.settings.crossDevice ? place : null,
    purpose,
  }
  return sealFor(deps, challenge, purpose.kind === 'app' ? purpose.request.pushedId : null)
}

/**
 * The challenge for another device that continues the login, with the same nonce and the same expiry. The app's `state` and
 * `code_challenge` are removed: they are useful only in the browser that requested the login. In a cross-device login the text names the
 * code that the browser shows.
 */
export function resumeChallenge(
  deps: Deps,
  challenge: Challenge,
  request: AuthorizationRequest,
  { browserKey, crossDevice }: { browserKey: string; crossDevice: boolean },
): string | null {
  const purpose = {
    kind: 'app' as const,
    request: { ...request, state: null, codeChallenge: null, nonce: null, pushedId: null },
  }
  const forDevice = crossDevice ? { template: TEMPLATES.twoScreens[request.limit ? 1 : 0] } : { place: null }
  const browserHash = hashBrowserKey(browserKey)
  return sealFor(deps, { ...challenge, ...forDevice, browserHash, elsewhere: true, purpose }, request.pushedId)
}

/**
 * The language that the app requested for the pages. Only the browser that made the request gets it: another device opened a link, and any
 * person can send a link to a login of their own.
 */
export function uiLocaleOf({ purpose, elsewhere }: Challenge): UiLocale | null {
  return purpose.kind === 'app' && !elsewhere ? purpose.request.uiLocale : null
}

/** Whether the signature of this device signs in the browser that requested the login. */
export function isCrossDevice({ elsewhere, template }: Challenge): boolean {
  return elsewhere && (TEMPLATES.twoScreens as readonly number[]).includes(template)
}

/** The eight letters that the browser shows and the text names. Only the service can compute the letters. Undefined if the key is retired. */
export function crossDeviceCodeOf(ring: KeyRing, { sessionKeyId, nonce }: Challenge): string | undefined {
  const key = ring.opener('mac', sessionKeyId)
  return key && showUserCode(userCodeOf(macOf(key, 'cross-device code', Buffer.from(nonce))))
}

/** The contents of a challenge, also of an expired one. Undefined if this service did not seal the text, or if the pushed request cannot be read. */
export async function openChallenge(deps: Deps, text: string): Promise<Challenge | undefined> {
  const packed = PACKED_CHALLENGE.open(deps.keys, text) ?? LIMITED_CHALLENGE.open(deps.keys, text)
  const purpose = packed && (await openPurpose(deps, packed))
  return purpose && unpack(packed, purpose)
}

async function openPurpose(deps: Deps, packed: PackedChallenge): Promise<LoginPurpose | undefined> {
  const purpose = packed[8]
  if (typeof purpose === 'string' || Array.isArray(purpose)) return unpackPurpose(purpose)
  if ('approval' in purpose) return { kind: 'approval', approval: purpose.approval }
  if ('device' in purpose) return { kind: 'device', request: purpose.device }
  const request = await requestOfLogin(deps, purpose.pushed)
  return request ? { kind: 'app', request } : undefined
}

/** A login for a device ends with the code of the device: later, the device could not get the tokens. An approval ends likewise. */
export function challengeExpiresAt({ issuedAt, purpose }: Challenge): number {
  const expiresAt = issuedAt + CHALLENGE_LIFETIME
  if (purpose.kind === 'approval') return Math.min(expiresAt, purpose.approval.expiresAt)
  return purpose.kind === 'device' ? Math.min(expiresAt, purpose.request.expiresAt) : expiresAt
}

export function isOfBrowser(challenge: Challenge, browserKey: string | null): boolean {
  return browserKey !== null && hashBrowserKey(browserKey) === challenge.browserHash
}

/** The id of the receipt: a UUID that is derived from the nonce. The older texts contain it as `Request ID` (ERC-4361). */
export function requestIdOf(challenge: Challenge): string {
  const hex = createHash('sha256').update(`request ${challenge.nonce}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * The id of the one session that this challenge can start, on either device. Only the service can compute the id, and only the browser
 * whose session was inserted receives the id: so the insert makes the login work once. Undefined if the key is retired.
 */
export function sessionIdOf(ring: KeyRing, challenge: Challenge): string | undefined {
  const key = ring.opener('mac', challenge.sessionKeyId)
  return key && macOf(key, 'session id', Buffer.from(challenge.nonce)).toString('base64url')
}

/** If the request is too long for the challenge and was pushed, the challenge contains only the id of the pushed request. */
function sealFor(deps: Deps, challenge: Challenge, pushedId: string | null): string | null {
  const { purpose } = challenge
  const format = 'request' in purpose && purpose.request.limit ? LIMITED_CHALLENGE : PACKED_CHALLENGE
  const whole = format.seal(deps.keys, pack(challenge, packPurpose(purpose)))
  if (whole.length <= MAX_LENGTH) return whole
  return pushedId === null ? null : format.seal(deps.keys, pack(challenge, { pushed: pushedId }))
}

function hashBrowserKey(browserKey: string): string {
  return createHash('sha256').update(browserKey).digest().subarray(0, 16).toString('base64url')
}

// A packed challenge is an array: member names would make the URL a third longer.
export type PackedRequest = [string, string, string, string[], string | null, 0 | 1, string | null, PackedExtras?]
// Members that few requests have. Each has a name of one letter, and is omitted without a value.
type PackedExtras = {
  n?: string
  d?: string
  p?: string
  h?: Address
  o?: 1
  m?: ResponseMode
  s?: number[][]
  l?: UiLocale
  a?: 1
  t?: ScopeLimit
}
type PackedDevice = { device: DeviceRequest }
type PackedApproval = { approval: ApprovalRequest }
type PackedPurpose = PackedRequest | PackedDevice | PackedApproval | 'account' | 'end_everything'
type Pushed = { pushed: string }
/** The network and the program, with a space between. The network contains no space. */
type PackedPlace = string
type PackedChallenge = [number, string, number, number, string, string, string, 0 | string, PackedPurpose | Pushed, PackedPlace?]

const PACKED_CHALLENGE = sealedFormat<PackedChallenge>('loginChallenge')
/** A node of a version without limits does not open this challenge, so it never lets a wallet sign the request without the limit. */
const LIMITED_CHALLENGE = sealedFormat<PackedChallenge>('limitedChallenge')

function pack(challenge: Challenge, purpose: PackedPurpose | Pushed): PackedChallenge {
  const { place } = challenge
  const packed: PackedChallenge = [
    challenge.template,
    challenge.nonce,
    challenge.issuedAt,
    challenge.until,
    challenge.clientName,
    challenge.browserHash,
    challenge.sessionKeyId,
    challenge.elsewhere ? challenge.requestedBy : 0,
    purpose,
  ]
  if (place) packed.push(`${place.network} ${place.program}`)
  return packed
}

function unpack(packed: PackedChallenge, purpose: LoginPurpose): Challenge {
  const [template, nonce, issuedAt, until, clientName, browserHash, sessionKeyId, requester, , packedPlace] = packed
  const elsewhere = requester !== 0
  const browsers = { browserHash, requestedBy: elsewhere ? requester : browserHash, elsewhere }
  const [network = '', ...program] = packedPlace?.split(' ') ?? []
  const place = packedPlace === undefined ? null : { network, program: program.join(' ') }
  return { template, nonce, issuedAt, until, clientName, ...browsers, sessionKeyId, place, purpose }
}

function packPurpose(purpose: LoginPurpose): PackedPurpose {
  if (purpose.kind === 'approval') return { approval: purpose.approval }
  if (purpose.kind !== 'app' && purpose.kind !== 'device') return purpose.kind
  return purpose.kind === 'device' ? { device: purpose.request } : packRequest(purpose.request)
}

export function packRequest(request: AuthorizationRequest): PackedRequest {
  const { clientId, redirectUri, scopes, resources, state, answersIss, codeChallenge } = request
  const usual: PackedRequest = [clientId, redirectUri, scopes.join(' '), resources, state, answersIss ? 1 : 0, codeChallenge]
  const extras = packExtras(request)
  if (Object.keys(extras).length > 0) usual.push(extras)
  return usual
}

/** `maxAge` is not included: the login of the challenge satisfies it. */
function packExtras(request: AuthorizationRequest): PackedExtras {
  const { nonce, dpopJkt, pushedId, loginHint, onlyHinted, responseMode, scopesByResource, needsSignature, uiLocale, limit } =
    request
  return {
    ...(nonce === null ? {} : { n: nonce }),
    ...(dpopJkt === null ? {} : { d: dpopJkt }),
    ...(pushedId === null ? {} : { p: pushedId }),
    ...(loginHint === null ? {} : { h: loginHint }),
    ...(onlyHinted ? { o: 1 as const } : {}),
    ...(needsSignature ? { a: 1 as const } : {}),
    ...(uiLocale === null ? {} : { l: uiLocale }),
    ...(responseMode === 'query' ? {} : { m: responseMode }),
    ...(limit === null ? {} : { t: limit }),
    ...(scopesByResource === null ? {} : { s: packPairs(request, scopesByResource) }),
  }
}

/** For each resource, the positions of its scopes in the list of all scopes. */
function packPairs({ scopes, resources }: AuthorizationRequest, pairs: ScopesByResource): number[][] {
  return resources.map((uri) => (pairs[uri] ?? []).map((scope) => scopes.indexOf(scope)))
}

function unpackPairs(positions: number[][] | undefined, scopes: string[], resources: string[]): ScopesByResource | null {
  if (positions === undefined) return null
  return Object.fromEntries(resources.map((uri, i) => [uri, (positions[i] ?? []).flatMap((at) => scopes[at] ?? [])]))
}

function unpackPurpose(packed: Exclude<PackedPurpose, PackedDevice | PackedApproval>): LoginPurpose {
  return typeof packed === 'string' ? { kind: packed } : { kind: 'app', request: unpackRequest(packed) }
}

export function unpackRequest(packed: PackedRequest): AuthorizationRequest {
  const [clientId, redirectUri, joined, resources, state, answersIss, codeChallenge, extras = {}] = packed
  const scopes = joined.split(' ')
  return {
    clientId,
    redirectUri,
    scopes,
    resources,
    scopesByResource: unpackPairs(extras.s, scopes, resources),
    limit: extras.t ?? null,
    state,
    answersIss: answersIss === 1,
    codeChallenge,
    nonce: extras.n ?? null,
    maxAge: null,
    needsSignature: extras.a === 1,
    uiLocale: extras.l ?? null,
    dpopJkt: extras.d ?? null,
    pushedId: extras.p ?? null,
    loginHint: extras.h ?? null,
    onlyHinted: extras.o === 1,
    responseMode: extras.m ?? 'query',
  }
}
