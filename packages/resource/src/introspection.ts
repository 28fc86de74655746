import type { AccessToken } from './access-token.ts'
import { readKeyThumbprint, readScopes } from './access-token.ts'
import { askIssuer } from './ask-issuer.ts'
import type { IssuerMetadata } from './issuer-metadata.ts'
import { readLeft, readLimit } from './limit.ts'
import { refuse } from './resource-error.ts'

/** The API's own credentials at the introspection endpoint. */
export interface IntrospectionCredentials {
  clientId: string
  clientSecret: string
}

/**
 * Checks with the authorization server on every call whether a token is active (RFC 7662 §2). Only the server has the
 * revocations, and a cached response would let a revoked token work longer.
 */
export function createIntrospection(
  credentials: IntrospectionCredentials,
  ask: typeof fetch,
  metadata: () => Promise<IssuerMetadata>,
) {
  const headers = { authorization: basicCredentials(credentials), accept: 'application/json' }

  return async function introspect(token: string, local: AccessToken): Promise<AccessToken> {
    const { introspectionEndpoint } = await metadata()
    if (!introspectionEndpoint) throw refuse.unavailable('introspection_endpoint_unusable')
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' })
    const answer = await askIssuer(ask, introspectionEndpoint, { method: 'POST', headers, body })

    // §2.2: `active` is a boolean. A string "true" or a missing member is not a valid response.
    if (typeof answer.active !== 'boolean') throw refuse.unavailable('introspection_malformed')
    if (!answer.active) throw refuse.invalidToken('inactive')
    // The response must be about the token that was verified. Audience and time were checked on the signed claims.
    if (answer.sub !== local.claims.sub) throw refuse.invalidToken('introspection_sub')
    if (answer.client_id !== local.clientId) throw refuse.invalidToken('introspection_client_id')
    if (answer.jti !== local.tokenId) throw refuse.invalidToken('introspection_jti')
    // RFC 9449 §6.2
    const bound = answer.cnf === undefined ? undefined : (readKeyThumbprint(answer.cnf) ?? 'unknown')
    if (bound !== local.keyThumbprint) throw refuse.invalidToken(local.keyThumbprint ? 'introspection_cnf' : 'sender_constrained')
    // The server may have removed scopes since the token was signed, and cannot add any.
    const scopes = readScopes(answer.scope)
    return { ...local, scopes: local.scopes.filter((name) => scopes.includes(name)), ...limitOf(answer) }
  }
}

/** A limit that cannot be read is left out: only `draw` decides. */
function limitOf(answer: Record<string, unknown>): Pick<AccessToken, 'limit' | 'left'> {
  const [limit, left] = [readLimit(answer.limit), readLeft(answer.left)]
  return limit && left ? { limit, left } : {}
}

/** RFC 6749 §2.3.1: id and secret are each form-urlencoded before they are joined. */
export function basicCredentials({ clientId, clientSecret }: IntrospectionCredentials): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}
