/**
 * Token exchange (RFC 8693): a resource server exchanges the access token of a call for a token for an API behind it.
 *
 * The new token is only ever narrower. It has the wallet and the grant of the subject token, so whatever ends the grant ends it too. It
 * has no scope that the subject token lacks, expires no later, and names each client that acted (§4.1). It is for a resource that the
 * operator registered for the client. The exchange writes nothing.
 */
import { randomUUID } from 'node:crypto'
import { parseScope } from '@grantor/protocol/scope'
import { openLiveAccessToken, signAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import { TOKEN_EXCHANGE } from '../../protocol/oauth/grant-types.ts'
import {
  invalidDpopProof,
  invalidRequest,
  invalidScope,
  invalidTarget,
  type OAuthError,
  unauthorizedClient,
} from '../../protocol/oauth/oauth-error.ts'
import type { ReasonOf } from '../../protocol/oauth/reasons.ts'
import { requireScopes } from '../../protocol/oauth/require-scopes.ts'
import { accessTokenLifetime } from '../model/client-lifetimes.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import type { GrantValidity } from '../model/request-store.ts'
import { scopesAt } from '../resources/scopes-at.ts'
import { bindingOf, type DpopProof, spendProof } from './dpop.ts'
import { readValidityOfToken } from './grant-of-token.ts'
import type { TokenResponse } from './token-response.ts'

/** The parsed body of the request (RFC 8693 §2.1). */
export type TokenExchange = {
  subjectToken: string
  subjectTokenType: string
  requestedTokenType: string | null
  /** true if the request has `actor_token` or `actor_token_type` */
  hasActorToken: boolean
  scope: string | null
  resources: string[]
  audiences: string[]
  /** a proof of the key that the new token will be bound to (RFC 9449 §5) */
  proof: DpopProof | null
}

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
/** §3. An access token of this service is a JWT, so both names are right. */
const TOKEN_TYPES: readonly string[] = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt']

/** How often a token can be exchanged, and thus the depth of `act`. It bounds the size of a token and the work of introspection. */
const EXCHANGES_AT_MOST = 4

export async function exchangeToken(deps: Deps, client: Client, request: TokenExchange): Promise<TokenResponse> {
  if (!client.grantTypes.includes(TOKEN_EXCHANGE)) throw unauthorizedClient('grant_type_not_registered')

  // 1. Check what needs no token.
  requireKnownTypes(request)
  const aud = chooseTarget(client, request)

  // 2. Check the subject token.
  const at = deps.now()
  const subject = openSubjectToken(deps, client, request.subjectToken, at)
  const chosen = chooseScopes(deps, client, subject, { aud, requested: request.scope })
  const exchangedFrom = [...(subject.exchanged_from ?? []), subject.jti]
  if (exchangedFrom.length > EXCHANGES_AT_MOST) throw subjectRefused('subject_token_exchanged_too_often')
  const { proof } = request
  // A bound token is of no use to a caller without the key. The exchange must not turn it into a bearer token.
  if (subject.cnf && proof === null) throw invalidDpopProof('proof_missing')
  requireSignedLimit(deps, chosen, { aud, grant: await requireStillValid(deps, subject) })
  const scope = chosen.join(' ')

  // 3. Spend the proof, then issue the token.
  if (proof) await spendProof(deps, proof, client.id)
  const binding = bindingOf(proof)
  const token = narrow(deps, client, subject, { aud, scope, exchangedFrom, binding, at })
  deps.audit({ event: 'token_exchanged', client_id: client.id, grant_id: subject.grant_id })
  // §2.2.1. There is no refresh token: the client exchanges the token of the next call.
  return {
    access_token: signAccessToken(deps.keys, token),
    issued_token_type: request.requestedTokenType ?? ACCESS_TOKEN,
    token_type: binding === null ? 'Bearer' : 'DPoP',
    expires_in: token.exp - at,
    scope,
  }
}

/** §2.1, §2.2.2: "If the request itself is not valid [...] The value of the error parameter MUST be the invalid_request error code." */
function requireKnownTypes({ subjectTokenType, requestedTokenType, hasActorToken }: TokenExchange): void {
  if (!TOKEN_TYPES.includes(subjectTokenType))
    throw invalidRequest('subject_token_type_unknown', 'subject_token_type must be that of an access token.')
  if (requestedTokenType !== null && !TOKEN_TYPES.includes(requestedTokenType))
    throw invalidRequest('requested_token_type_unknown', 'requested_token_type must be that of an access token.')
  // The actor is always the client, which has authenticated.
  if (hasActorToken) throw invalidRequest('actor_token_not_supported', 'actor_token is not supported: the client is the actor.')
}

/** §2.1: the one target. `audience` and `resource` both name it as in `aud`, and may be sent together. */
function chooseTarget(client: Client, { resources, audiences }: TokenExchange): string {
  const [target, ...more] = new Set([...resources, ...audiences])
  if (target === undefined) throw invalidRequest('resource_missing', 'resource or audience is required.')
  if (more.length > 0) throw invalidTarget('more_than_one_resource')
  if (!client.exchangeResources.includes(target)) throw invalidTarget('resource_not_exchangeable')
  return target
}

type SubjectToken = AccessTokenClaims & { grant_id: string }

/**
 * The claims of an access token that this service issued to a user's app for a call of the client's API. §4.1: an earlier actor in `act`
 * has no rights; only the audience of the token may exchange it.
 */
function openSubjectToken(deps: Deps, client: Client, token: string, at: number): SubjectToken {
  const claims = openLiveAccessToken(deps.keys, token, { issuer: deps.settings.authUrl, now: at })
  if (!claims) throw subjectRefused('subject_token_unknown_or_expired')
  if (claims.aud !== client.resourceServer) throw subjectRefused('subject_token_of_another_audience')
  // A token of the client credentials grant has no wallet to act for.
  const { grant_id: grantId } = claims
  if (grantId === undefined) throw subjectRefused('subject_token_without_user')
  return { ...claims, grant_id: grantId }
}

type Chosen = { aud: string; requested: string | null }

/** Without a `scope` parameter: the scopes of the subject token that the client is registered for and that belong to the resource. */
function chooseScopes(deps: Deps, client: Client, subject: SubjectToken, { aud, requested }: Chosen): string[] {
  const granted = subject.scope.split(' ')
  const own = granted.filter((scope) => client.scopes.includes(scope))
  const scopes = requested === null ? scopesAt(deps, client, aud, own) : parseScope(requested)
  if (!scopes) throw invalidScope('scope_malformed')
  requireScopes(scopes, (each) => client.scopes.includes(each), 'scope_not_allowed')
  requireScopes(scopes, (each) => granted.includes(each), 'scope_not_granted')
  if (scopes.length === 0) throw invalidScope('no_scope_left')
  if (scopesAt(deps, client, aud, scopes).length < scopes.length) throw invalidScope('scope_of_another_resource')
  return scopes
}

type Narrower = { aud: string; scope: string; exchangedFrom: string[]; binding: { jkt: string } | null; at: number }

/**
 * The claims of the new token (§4.1, §6, RFC 9068 §2.2): no data about the user besides the wallet's address and how and when
 * the wallet signed in.
 */
function narrow({ settings }: Deps, client: Client, subject: SubjectToken, narrower: Narrower): AccessTokenClaims {
  const { aud, scope, exchangedFrom, binding, at } = narrower
  return {
    iss: settings.authUrl,
    sub: subject.sub,
    aud,
    client_id: client.id,
    exp: Math.min(at + accessTokenLifetime(settings.lifetimes, client), subject.exp),
    iat: at,
    jti: randomUUID(),
    scope,
    grant_id: subject.grant_id,
    ...(subject.auth_time !== undefined && { auth_time: subject.auth_time }),
    ...(subject.acr !== undefined && { acr: subject.acr }),
    act: { sub: client.id, ...(subject.act && { act: subject.act }) },
    exchanged_from: exchangedFrom,
    ...(binding && { cnf: binding }),
  }
}

/** The checks of introspection: client, grant and revocations. */
async function requireStillValid(deps: Deps, subject: SubjectToken): Promise<GrantValidity> {
  if (!(await deps.clients.isEnabled(subject.client_id))) throw subjectRefused('subject_token_client_disabled')
  const found = await readValidityOfToken(deps, subject, subject.grant_id)
  if (typeof found === 'string') throw subjectRefused(REASONS[found])
  return found
}

/** A scope that has a limit at the target needs the limit that the wallet signed. The new token draws from the same limit. */
function requireSignedLimit({ resources }: Deps, scopes: string[], { aud, grant }: { aud: string; grant: GrantValidity }): void {
  const isSigned = (scope: string) => resources.limitOf(aud, scope) === undefined || grant.signedLimit?.scope === scope
  requireScopes(scopes, isSigned, 'limit_not_signed')
}

const REASONS = {
  grant_ended: 'subject_token_grant_ended',
  access_token_revoked: 'subject_token_revoked',
  client_unknown_or_disabled: 'subject_token_client_disabled',
} as const

/** §2.2.2: an invalid subject token is `invalid_request`. One wording for every fault. */
function subjectRefused(reason: Extract<ReasonOf<'invalid_request'>, `subject_token_${string}`>): OAuthError {
  return invalidRequest(reason, 'The subject_token is invalid, expired, revoked, or not for this client.')
}
