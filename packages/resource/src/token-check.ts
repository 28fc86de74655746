import type { AccessToken } from './access-token.ts'
import type { Approve } from './approval.ts'
import { createApprove } from './approve.ts'
import { createChallenges, type RefusedCall } from './challenges.ts'
import { type CheckedCall, schemeOf } from './checked-call.ts'
import type { DrawFromLimit, GiveBack } from './draw.ts'
import type { IntrospectionCredentials } from './introspection.ts'
import { isSecureUrl } from './issuer-metadata.ts'
import { createLifeCheck, type FeedOptions, MAX_AGE, MAX_AGE_AT_MOST } from './life-check.ts'
import { createLimits } from './limits.ts'
import type { PresentedRequest } from './presented-token.ts'
import { readPresentedToken } from './presented-token.ts'
import { type CalledAs, createProofCheck, type DpopOptions } from './proof-check.ts'
import { type Requirements, requireOfToken } from './requirements.ts'
import { ResourceError, refuse } from './resource-error.ts'

export interface TokenCheckOptions {
  /** The authorization server, exactly as in `iss`. https, or http on this machine. */
  issuer: string
  /** This API's name, as in `aud`, and the realm of every challenge. */
  audience: string
  /**
   * How an ended token is found. `local`: not at all, a token works until its `exp`. `introspection`: by a request to the authorization server
   * for every call (RFC 7662). `feed`: without a request, from the list of ended tokens that this process reads from the authorization server
   * all the time; a token stops working within a second. Default: `introspection` if the credentials are set, otherwise `local`.
   */
  check?: 'local' | 'introspection' | 'feed'
  /** The API's own credentials at the authorization server. Required for `introspection`, for `feed`, for `approve`, and for `draw`. */
  introspection?: IntrospectionCredentials
  /** With `check: 'feed'`. */
  feed?: FeedOptions
  /**
   * The header with the token; default `authorization`, with `Bearer <token>` (RFC 6750 §2.1). Any other header
   * contains the bare token, or `Bearer <token>`; `Authorization` is then ignored.
   */
  header?: string
  /**
   * Whether apps may call for themselves, with a token that belongs to no user (grant type `client_credentials`). Such
   * a token has an empty `wallet`. Such a token is refused unless this is set.
   */
  clientTokens?: boolean
  /**
   * Accepts tokens that are bound to a key (`Authorization: DPoP <token>`, RFC 9449); each call must present a proof of
   * that key. If not set, such tokens are refused.
   */
  dpop?: DpopOptions
  /** Scopes that every call needs. */
  scopes?: readonly string[]
  /** The address of this API's metadata document (RFC 9728). If set, it is `resource_metadata` of each challenge. */
  metadataUrl?: string
  /** Seconds by which this machine's clock may be wrong; default 0. */
  clockTolerance?: number
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** Epoch seconds; the machine's clock if absent. */
  now?: () => number
}

/**
 * Checks the token of one request.
 *
 * @param needs.scopes scopes that this call needs in addition to those of the options
 * @param needs.maxAge the largest number of seconds since the sign-in; `needs.acrValues`: the accepted ways of signing in
 * @param needs.htm the method that a DPoP proof must name, if it differs from the request's; `needs.htu`: the address in the proof
 * @throws ResourceError with `status` 400, 401, 403 or 503 and the `headers` of the response (RFC 6750 §3, RFC 9068 §4)
 */
export interface TokenCheck {
  (request: PresentedRequest, needs?: Needs): Promise<AccessToken>
  /**
   * With `check: 'feed'`, resolves when the feed can be used, or after `close`; otherwise at once. An API need not wait: until then, tokens are
   * introspected.
   */
  ready(): Promise<void>
  /** Ends the connection of the feed if no other check reads the feed. Later calls introspect their tokens. */
  close(): void
}

/** What one call needs, and its method and address. */
export type Needs = Requirements & CalledAs

/**
 * Checks what an operation needs of a token that was already checked: for an API in which the body of the request
 * determines what the operation needs.
 *
 * @throws ResourceError 403 `insufficient_scope` or 401 `insufficient_user_authentication`
 */
export type RequireOfToken = (token: AccessToken, needs: Requirements) => void

/**
 * Makes the function that guards a resource API. The function returns the request's verified access token or throws a
 * `ResourceError`.
 *
 * The token is an RFC 9068 JWT, verified with the issuer's published keys (RFC 8414, RFC 7517), which are fetched at
 * the first call and cached. Make one check for all routes.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createTokenCheck, ResourceError } from '@grantor/resource'
 *
 * const check = createTokenCheck({
 *   issuer: 'https://auth.example.com',
 *   audience: 'https://api.example.com/',
 *   introspection: { clientId: process.env.API_CLIENT_ID ?? '', clientSecret: process.env.API_CLIENT_SECRET ?? '' },
 * })
 *
 * createServer(async (request, response) => {
 *   try {
 *     const token = await check(request, { scopes: ['enhancement'] })
 *     response.end(`Hello ${token.wallet}`)
 *   } catch (error) {
 *     if (error instanceof ResourceError) response.writeHead(error.status, error.headers).end(error.description)
 *     else response.writeHead(500).end()
 *   }
 * }).listen(3000)
 * ```
 *
 * @throws TypeError that names an unusable option
 */
export function createTokenCheck(options: TokenCheckOptions): TokenCheck {
  return createTokenChecks(options).check
}

type TokenChecks = { check: TokenCheck; require: RequireOfToken; approve: Approve; draw: DrawFromLimit; giveBack: GiveBack }

/** The check of `createTokenCheck`, and what a call can need afterwards: further needs of the token, the approval of one action, and draws from a limit. */
export function createTokenChecks(options: TokenCheckOptions): TokenChecks {
  refuseUnusableOptions(options)
  const { audience, dpop, metadataUrl, clientTokens = false, clockTolerance = 0, scopes = [] } = options
  const header = (options.header ?? 'authorization').toLowerCase()
  const now = options.now ?? machineClock
  const tokens = createLifeCheck(options, now)
  const proofs = dpop && createProofCheck(dpop, now)
  const takes = { bearer: !dpop?.required, dpop: dpop !== undefined }
  const withChallenge = createChallenges({ realm: audience, takes, metadataUrl })
  const challenged = (error: unknown, call: RefusedCall) => (error instanceof ResourceError ? withChallenge(error, call) : error)
  const calls = new WeakMap<AccessToken, CheckedCall>()

  async function checkRequest(request: PresentedRequest, needs: Needs = {}): Promise<AccessToken> {
    const needed = [...scopes, ...(needs.scopes ?? [])]
    const presented = readPresentedToken(request, header, dpop !== undefined)
    try {
      if (presented.kind === 'none') throw refuse.noCredentials()
      if (presented.kind === 'malformed') throw refuse.invalidRequest(presented.reason)
      return await checkToken(request, presented, { ...needs, scopes: needed })
    } catch (error) {
      throw challenged(error, { scopes: needed, ...(presented.kind === 'token' ? { scheme: presented.scheme } : {}) })
    }
  }

  async function checkToken(request: PresentedRequest, { token: text, scheme }: Presented, needs: Needs): Promise<AccessToken> {
    // The signature first: a forged token causes no request to the authorization server.
    const verified = await tokens.verify(text)
    const signed = verified.token
    const bound = signed.keyThumbprint !== undefined
    // RFC 9449 §7.2: a bound token "received as a bearer token" MUST be rejected. §7.1: the scheme DPoP is for bound
    // tokens only.
    if (bound && scheme === 'Bearer') throw refuse.invalidToken('sender_constrained')
    if (!bound && (scheme === 'DPoP' || dpop?.required)) throw refuse.invalidToken('not_bound')
    const proof = bound ? proofs?.checkProof(request, text, signed, needs) : undefined
    if (signed.wallet === '' && !clientTokens) throw refuse.invalidToken('no_wallet')
    const token = await tokens.confirm(text, verified)

    requireOfToken(token, needs, now() - clockTolerance)
    // Last, after every other check, so that a refused call does not spend the proof.
    if (proof) await proofs?.spendProof(proof)
    calls.set(token, { text, required: new Set(needs.scopes) })
    return token
  }

  function require(token: AccessToken, needs: Requirements): void {
    try {
      requireOfToken(token, needs, now() - clockTolerance)
    } catch (error) {
      throw challenged(error, { scheme: schemeOf(token), scopes: [...scopes, ...(needs.scopes ?? [])] })
    }
    for (const scope of needs.scopes ?? []) calls.get(token)?.required.add(scope)
  }

  const { ready, close } = tokens
  const approve = createApprove(options, calls, challenged)
  const { draw, giveBack } = createLimits(options, calls, challenged)
  return { check: Object.assign(checkRequest, { ready, close }), require, approve, draw, giveBack }
}

/** Whole seconds, as jose reads the clock for the token. */
function machineClock(): number {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the default clock: this module runs in the resource API's process
  return Math.floor(Date.now() / 1_000)
}

type Presented = { token: string; scheme: 'Bearer' | 'DPoP' }

/** Options are checked when the API starts, not at the first call of a user. */
function refuseUnusableOptions(options: TokenCheckOptions): void {
  const { issuer, audience, introspection, header, dpop, clockTolerance = 0 } = options
  if (!isSecureUrl(issuer)) throw new TypeError('issuer must be an https URL (http only on this machine)')
  // RFC 8414 §2: an issuer has no query and no fragment
  if (/[?#]/.test(issuer)) throw new TypeError('issuer must have no query and no fragment')
  // RFC 8414 §3.3: the metadata must name exactly this issuer, and the issuer of Grantor has no final slash.
  if (issuer.endsWith('/')) throw new TypeError('issuer must have no final slash, as in https://auth.example.com')
  if (!audience) throw new TypeError('audience must name this API')
  if (header !== undefined && !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(header)) throw new TypeError('header must be a header name')
  if (!Number.isFinite(clockTolerance) || clockTolerance < 0) throw new TypeError('clockTolerance must be seconds, 0 or more')
  if (dpop && !isOrigin(dpop.origin)) throw new TypeError('dpop.origin must be an origin, such as https://api.example.com')
  if (introspection && !(introspection.clientId && introspection.clientSecret)) {
    throw new TypeError('introspection needs clientId and clientSecret')
  }
  refuseUnusableCheck(options)
}

function refuseUnusableCheck({ check, introspection, feed }: TokenCheckOptions): void {
  if (check !== undefined && !['local', 'introspection', 'feed'].includes(check))
    throw new TypeError("check must be 'local', 'introspection' or 'feed'")
  if ((check === 'introspection' || check === 'feed') && !introspection)
    throw new TypeError(`check: '${check}' needs introspection, with clientId and clientSecret`)
  if (feed && check !== 'feed') throw new TypeError("feed needs check: 'feed'")
  const { maxAge = MAX_AGE } = feed ?? {}
  if (!(maxAge >= 1 && maxAge <= MAX_AGE_AT_MOST)) throw new TypeError(`feed.maxAge must be seconds, 1 to ${MAX_AGE_AT_MOST}`)
}

function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/?#]+\/?$/i.test(text) && isSecureUrl(text)
}
