import type { JWTVerifyGetKey, JWTVerifyOptions, RemoteJWKSet } from 'jose'
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { AccessToken } from './access-token.ts'
import { readAccessToken } from './access-token.ts'
import { boundAnswer } from './bounded-answer.ts'
import type { IssuerMetadata } from './issuer-metadata.ts'
import { refuse } from './resource-error.ts'
import type { ResourceReasonOf } from './resource-reasons.ts'

interface Expected {
  issuer: string
  audience: string
  /** Seconds. */
  clockTolerance: number
  /** Epoch seconds; if absent, jose reads the machine's clock. */
  now: (() => number) | undefined
}

/** A token whose signature and claims are valid, and the `kid` of the key. */
export interface SignedToken {
  token: AccessToken
  keyId: string
}

/** The algorithms that Grantor signs with. The token's header cannot choose any other, so `none` and HMAC are refused. */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const

/**
 * Validates a JWT access token without the authorization server (RFC 9068 §4): type, signature, issuer, audience, time,
 * claims.
 *
 * The JWK Set is cached for ten minutes. An unknown key id causes a new fetch, at most every thirty seconds, so that
 * callers with invented key ids cannot make this API overload the authorization server.
 */
export function createSignatureCheck(
  { issuer, audience, clockTolerance, now }: Expected,
  ask: typeof fetch,
  metadata: () => Promise<IssuerMetadata>,
) {
  const getKey = createKeyFinder(ask, metadata)

  return async function checkSignature(token: string): Promise<SignedToken> {
    if (!isSpelledOneWay(token)) throw refuse.invalidToken('malformed')
    const { payload, protectedHeader } = await verify(token, getKey, {
      // §4: "The resource server MUST verify that the typ header value is at+jwt or application/at+jwt"
      typ: 'at+jwt',
      algorithms: [...SIGNING_ALGORITHMS],
      issuer,
      // RFC 8707 §3: a token that leaked from another API is refused here
      audience,
      requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
      clockTolerance,
      ...(now ? { currentDate: new Date(now() * 1_000) } : {}),
    })
    const outcome = readAccessToken(payload)
    if (outcome.kind === 'malformed') throw refuse.invalidToken(`claim_${outcome.claim}`)
    return { token: outcome.token, keyId: protectedHeader.kid ?? '' }
  }

  async function verify(token: string, key: JWTVerifyGetKey, expected: JWTVerifyOptions) {
    try {
      return await jwtVerify(token, key, expected)
    } catch (error) {
      // jose's error is not kept as the cause: it contains the claims, and with them the wallet's address.
      if (error instanceof errors.JOSEError) throw refuse.invalidToken(reasonOf(error))
      throw error
    }
  }
}

/** Finds keys of the issuer's JWK Set. Throws a ResourceError 503 if the set cannot be fetched. */
export function createKeyFinder(ask: typeof fetch, metadata: () => Promise<IssuerMetadata>): JWTVerifyGetKey {
  let keys: RemoteJWKSet | undefined
  return async (header, token) => {
    const { jwksUri } = await metadata()
    keys ??= createRemoteJWKSet(jwksUri, { [customFetch]: askForKeys(ask) })
    try {
      return await keys(header, token)
    } catch (error) {
      // An unknown key is a fault of the token; every other error is a fault of the set.
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      throw refuse.unavailable('jwks_unreachable', { cause: error })
    }
  }
}

/** In milliseconds: how long no further fetch follows a failed one. */
const PAUSE_MS = 1_000

/**
 * Fetches the JWK Set. After a first set, a failed fetch is followed by a pause: jose fetches the set again for each unknown key id as long as that fails,
 * and callers can invent key ids. Known keys need no fetch.
 */
function askForKeys(ask: typeof fetch): typeof fetch {
  let hasSet = false
  let notBefore = 0
  return async (input, init) => {
    if (hasSet && performance.now() < notBefore) throw new Error('the key set could not be fetched a moment ago')
    notBefore = performance.now() + PAUSE_MS
    const response = boundAnswer(await ask(input, init))
    if (response.ok) notBefore = 0
    hasSet ||= response.ok
    return response
  }
}

/**
 * Whether the signature's base64url ends without stray bits. Decoders ignore stray bits, so one signature would
 * have several spellings, and a comparison of tokens as text would treat one token as two. The other parts are signed
 * as text.
 */
function isSpelledOneWay(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

/** For the log: which check of RFC 9068 §4 failed. */
function reasonOf(error: errors.JOSEError): ResourceReasonOf<'invalid_token'> {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `claim_${error.claim}`
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return 'unknown_key'
  return 'malformed'
}
