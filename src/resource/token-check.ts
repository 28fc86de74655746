import { isSubset } from '../oauth/scope.ts'
import type { AccessToken } from './access-token.ts'
import type { IntrospectionCredentials } from './introspection.ts'
import { createIntrospection } from './introspection.ts'
import { createIssuerMetadata, isSecureUrl } from './issuer-metadata.ts'
import type { PresentedRequest } from './presented-token.ts'
import { readPresentedToken } from './presented-token.ts'
import { type CalledAs, createProofCheck, type DpopOptions } from './proof-check.ts'
import { createRefusals, ResourceError } from './resource-error.ts'
import { createSignatureCheck } from './signature-check.ts'

export interface TokenCheckOptions {
  /** The authorization server, exactly as it writes `iss`. https, or http on this machine. */
  issuer: string
  /** This API's name, as it stands in `aud`. Named as the realm in every challenge. */
  audience: string
  /**
   * With it every call also asks the authorization server (RFC 7662), so a revoked token stops at once. Without it a
   * token is checked by itself and works until its `exp`.
   */
  introspection?: IntrospectionCredentials
  /**
   * The header the token arrives in; default `authorization`, with `Bearer <token>` (RFC 6750 §2.1). Any other header
   * holds the bare token, or `Bearer <token>`; `Authorization` is then not looked at.
   */
  header?: string
  /**
   * Whether apps may call for themselves, with a token that stands for no user (grant type `client_credentials`); such a token
   * has an empty `wallet`. Refused unless set.
   */
  clientTokens?: boolean
  /**
   * Takes tokens that are bound to a key (`Authorization: DPoP <token>`, RFC 9449), with the proof of that key which each call must
   * bring. Without it such tokens are refused.
   */
  dpop?: DpopOptions
  /** Scopes that every call needs. */
  scopes?: readonly string[]
  /** Seconds by which this machine's clock may be off; default 0. */
  clockTolerance?: number
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** Epoch seconds; the machine's clock when absent. */
  now?: () => number
}

/**
 * Checks the token of one request.
 *
 * @param needs.scopes scopes this call needs beside those of the options
 * @param needs.htm the method that a DPoP proof must name, where it is not the request's own; `needs.htu` the same of the address
 * @throws ResourceError with `status` 400, 401, 403 or 503 and the `headers` to answer with (RFC 6750 §3, RFC 9068 §4)
 */
export type TokenCheck = (request: PresentedRequest, needs?: Needs) => Promise<AccessToken>

/**
 * Makes the function that guards a resource API: one request in, its verified access token out, or a `ResourceError`.
 *
 * The token is an RFC 9068 JWT, verified with the issuer's published keys (RFC 8414, RFC 7517), which are fetched at
 * the first call and kept. Make one check and use it for every route.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createTokenCheck, ResourceError } from 'grantor/resource'
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
 * @throws TypeError when an option cannot work, naming it
 */
export function createTokenCheck(options: TokenCheckOptions): TokenCheck {
  refuseUnusableOptions(options)
  const { issuer, audience, introspection, dpop, clientTokens = false, clockTolerance = 0, scopes = [] } = options
  const header = (options.header ?? 'authorization').toLowerCase()
  // Looked up at each call, so that a test or an instrumentation may replace the global one later.
  const ask = options.fetch ?? ((input, init) => fetch(input, init))

  const refuse = createRefusals(audience, { bearer: !dpop?.required, dpop: dpop !== undefined })
  const metadata = createIssuerMetadata(issuer, ask, refuse)
  const expected = { issuer, audience, clockTolerance, now: options.now }
  const checkSignature = createSignatureCheck(expected, ask, metadata, refuse)
  const introspect = introspection && createIntrospection(introspection, ask, metadata, refuse)
  const proofs = dpop && createProofCheck(dpop, options.now ?? machineClock, refuse)

  return async function check(request, needs = {}) {
    const presented = readPresentedToken(request, header, dpop !== undefined)
    if (presented.kind === 'none') throw refuse.noCredentials()
    if (presented.kind === 'malformed') throw refuse.invalidRequest(presented.reason)
    try {
      return await checkToken(request, presented, needs)
    } catch (error) {
      throw error instanceof ResourceError && presented.scheme === 'DPoP' ? refuse.toDpop(error) : error
    }
  }

  async function checkToken(request: PresentedRequest, { token: text, scheme }: Presented, needs: Needs): Promise<AccessToken> {
    // The signature first: what nobody signed costs the authorization server no question.
    const signed = await checkSignature(text)
    const bound = signed.keyThumbprint !== undefined
    // RFC 9449 §7.2: a bound token "received as a bearer token" MUST be rejected; §7.1: no other is one with the scheme DPoP.
    if (bound && scheme === 'Bearer') throw refuse.invalidToken('sender_constrained')
    if (!bound && (scheme === 'DPoP' || dpop?.required)) throw refuse.invalidToken('not_bound')
    const proof = bound ? proofs?.checkProof(request, text, signed, needs) : undefined
    if (signed.wallet === '' && !clientTokens) throw refuse.invalidToken('no_wallet')
    const token = introspect ? await introspect(text, signed) : signed

    const needed = [...scopes, ...(needs.scopes ?? [])]
    if (!isSubset(needed, token.scopes)) throw refuse.insufficientScope(needed)
    // Last, when everything else holds.
    if (proof) await proofs?.spendProof(proof)
    return token
  }
}

/** As jose reads it for the token itself. */
function machineClock(): number {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the API's own clock, unless it gives another
  return Math.floor(Date.now() / 1_000)
}

type Presented = { token: string; scheme: 'Bearer' | 'DPoP' }
type Needs = { scopes?: readonly string[] } & CalledAs

/** Told when the API starts, not at the first call a user makes. */
function refuseUnusableOptions({ issuer, audience, introspection, header, dpop, clockTolerance = 0 }: TokenCheckOptions): void {
  if (!isSecureUrl(issuer)) throw new TypeError('issuer must be an https URL (http only on this machine)')
  // RFC 8414 §2: an issuer has no query and no fragment
  if (/[?#]/.test(issuer)) throw new TypeError('issuer must have no query and no fragment')
  if (!audience) throw new TypeError('audience must name this API')
  if (header !== undefined && !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(header)) throw new TypeError('header must be a header name')
  if (!Number.isFinite(clockTolerance) || clockTolerance < 0) throw new TypeError('clockTolerance must be seconds, 0 or more')
  if (dpop && !isOrigin(dpop.origin)) throw new TypeError('dpop.origin must be an origin, such as https://api.example.com')
  if (introspection && !(introspection.clientId && introspection.clientSecret)) {
    throw new TypeError('introspection needs clientId and clientSecret')
  }
}

function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/?#]+\/?$/i.test(text) && isSecureUrl(text)
}
