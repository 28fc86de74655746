import type { AccessToken } from './access-token.ts'
import { readKeyThumbprint, readScopes } from './access-token.ts'
import { askIssuer } from './ask-issuer.ts'
import type { IssuerMetadata } from './issuer-metadata.ts'
import type { Refusals } from './resource-error.ts'

/** The API's own credentials at the introspection endpoint. */
export interface IntrospectionCredentials {
  clientId: string
  clientSecret: string
}

/**
 * Asks the authorization server whether a token still works (RFC 7662 §2), on every call: only the server knows of a
 * revocation, and an answer kept for later would let a revoked token go on.
 */
export function createIntrospection(
  { clientId, clientSecret }: IntrospectionCredentials,
  ask: typeof fetch,
  metadata: () => Promise<IssuerMetadata>,
  refuse: Refusals,
) {
  const headers = { authorization: basicCredentials(clientId, clientSecret), accept: 'application/json' }

  return async function introspect(token: string, local: AccessToken): Promise<AccessToken> {
    const { introspectionEndpoint } = await metadata()
    if (!introspectionEndpoint) throw refuse.unavailable('introspection_endpoint_unusable')
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' })
    const answer = await askIssuer(ask, introspectionEndpoint, { method: 'POST', headers, body }, refuse)

    // §2.2: `active` is a boolean; a string "true" or a missing member is an answer we do not understand.
    if (typeof answer.active !== 'boolean') throw refuse.unavailable('introspection_malformed')
    if (!answer.active) throw refuse.invalidToken('inactive')
    // The answer must be about the very token that was verified; audience and time were checked on its signed claims.
    if (answer.sub !== local.claims.sub) throw refuse.invalidToken('introspection_sub')
    if (answer.client_id !== local.clientId) throw refuse.invalidToken('introspection_client_id')
    if (answer.jti !== local.tokenId) throw refuse.invalidToken('introspection_jti')
    // RFC 9449 §6.2
    const bound = answer.cnf === undefined ? undefined : (readKeyThumbprint(answer.cnf) ?? 'unknown')
    if (bound !== local.keyThumbprint) throw refuse.invalidToken(local.keyThumbprint ? 'introspection_cnf' : 'sender_constrained')
    // The server may have narrowed the scope since it signed; it cannot widen it.
    const scopes = readScopes(answer.scope)
    return { ...local, scopes: local.scopes.filter((name) => scopes.includes(name)) }
  }
}

/** RFC 6749 §2.3.1: id and secret are each form-urlencoded before they are joined. */
function basicCredentials(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}
