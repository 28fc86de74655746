/**
 * `private_key_jwt`: a client authenticates with a JWT that the client signed with a private key (RFC 7523 §2.2, §3; OpenID
 * Connect Core §9). Each assertion works once (RFC 6749 §2.3.2, RFC 9700 §2.5).
 */
import { randomUUID } from 'node:crypto'
import { type ClaimedJwt, readClientJwt } from '@grantor/protocol/client-jwt'
import { invalidClient } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import { hashOfUse } from '../model/hash-of-use.ts'
import type { Client } from '../model/records.ts'
import { unknownClient } from './unknown-client.ts'

/** RFC 7523 §2.2 */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Seconds by which a client's clock may be ahead (FAPI 2.0 Security Profile §5.3.2.1: accept 10, refuse 60). */
const CLIENT_CLOCK_AHEAD_AT_MOST = 30
/** Seconds. Some libraries make assertions that are valid for an hour. Each use is remembered until the assertion expires. */
const MAX_LIFETIME = 3600 + CLIENT_CLOCK_AHEAD_AT_MOST
const MAX_LIFETIME_FAPI2 = 600
/** RFC 7519 §5.1, and the type that RFC 7523bis defines for assertions. A JWT with another type has another purpose. */
const TYPES = [null, 'jwt', 'client-authentication+jwt']
const JTI_AT_MOST = 256

/** The `iss` claim, unchecked; null if the text is not a JWT with one. */
export function assertionIssuer(assertion: string): string | null {
  const issuer = readClientJwt(assertion)?.claims.iss
  return typeof issuer === 'string' ? issuer : null
}

/** Parses an assertion. `issuer` is the client id that the assertion claims; the signature is not checked here. */
export function readAssertion(assertion: string, clientId: string | null): { issuer: string; jwt: ClaimedJwt } {
  const jwt = readClientJwt(assertion)
  if (!jwt) throw invalidClient('assertion_malformed')
  const { iss, sub } = jwt.claims
  // §3: "For client authentication, the subject MUST be the 'client_id' of the OAuth client", and so is the issuer.
  if (typeof iss !== 'string' || iss !== sub) throw invalidClient('assertion_issuer_is_not_subject')
  if (clientId !== null && clientId !== iss) throw invalidClient('assertion_of_another_client')
  return { issuer: iss, jwt }
}

/**
 * Checks that the client made the assertion. The claims and the signature are checked even if the client is unknown or has no keys:
 * the time of a refusal must not show which ids are registered. The `jti` is spent last.
 */
export async function proveAssertion(deps: Deps, client: Client | null, jwt: ClaimedJwt, network: string): Promise<Client> {
  const { jti, exp } = readClaims(deps, client, jwt)
  const hasKeys = client?.authMethod === 'private_key_jwt'
  const verdict = await deps.clientKeys.check(hasKeys ? client : null, jwt, network)
  if (!client) throw unknownClient(deps, String(jwt.claims.iss))
  if (!hasKeys) throw invalidClient('auth_method_not_registered')
  if (verdict === 'unusable') throw invalidClient('client_key_unusable')
  if (verdict === 'none') throw invalidClient('assertion_signature_wrong')

  deps.countUse(client.id, network)
  // RFC 7523 §3: "The authorization server MAY ensure that JWTs are not replayed". This server does so, on all nodes.
  const use = { kind: 'assertion', hash: hashOfUse(client.id, jti), expiresAt: Math.ceil(exp), attemptId: randomUUID() } as const
  if ((await deps.store.spent.spend(use)) === 'spent_before') throw invalidClient('assertion_replayed')
  return client
}

function readClaims(deps: Deps, client: Client | null, { typ, claims }: ClaimedJwt): { jti: string; exp: number } {
  const { aud, exp, nbf, iat, jti } = claims
  if (!TYPES.includes(typ)) throw invalidClient('assertion_type_wrong')
  // A list is refused: another server of the list could replay the assertion here.
  if (typeof aud !== 'string' || !audiencesOf(deps, client).includes(aud)) throw invalidClient('assertion_audience_wrong')
  const at = deps.now()
  if (!isTime(exp)) throw invalidClient('assertion_exp_missing')
  if (exp <= at) throw invalidClient('assertion_expired')
  if (exp > at + (client?.profile === 'fapi2' ? MAX_LIFETIME_FAPI2 : MAX_LIFETIME))
    throw invalidClient('assertion_lives_too_long')
  for (const time of [nbf, iat]) {
    if (time === undefined) continue
    if (!isTime(time) || time > at + CLIENT_CLOCK_AHEAD_AT_MOST) throw invalidClient('assertion_of_the_future')
  }
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_AT_MOST) throw invalidClient('assertion_jti_missing')
  return { jti, exp }
}

/**
 * The issuer only (RFC 7523bis; FAPI 2.0 Security Profile §5.3.2.1): another server could name an endpoint of this server as its own, receive an
 * assertion for that endpoint, and use the assertion here. A client may be registered for the endpoints that RFC 7523 §3 and RFC 9126 §2 allow.
 */
function audiencesOf({ settings: { authUrl } }: Deps, client: Client | null): string[] {
  const mayNameEndpoint = client?.assertionAudience === 'endpoint' && client.profile !== 'fapi2'
  return mayNameEndpoint ? [authUrl, `${authUrl}/oauth/token`, `${authUrl}/oauth/par`] : [authUrl]
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}
