/** Checks the metadata of a client. Each fault is one line (RFC 6749 §2, §3.1.2.2, §10.2, §10.6, RFC 7591 §2). */
import { jwkSetFaults } from '@grantor/protocol/public-jwk'
import { isScopeName, isSubset } from '@grantor/protocol/scope'
import { DEVICE_CODE_GRANT, grantTypes, hasTokensWithoutUser, TOKEN_EXCHANGE } from '../../oauth/grant-types.ts'
import { formOrigin, redirectUriFault } from '../../oauth/redirect-uri.ts'
import { isSignableResourceUri } from '../../oauth/resource-uri.ts'
import { isFormPost } from '../../oauth/response-mode.ts'
import { hasInvisible, visibleText } from '../../oauth/visible-text.ts'
import { isSignableUri } from '../../wallet/message-grammar.ts'
import type { Client } from '../model/records.ts'
import { schemeRuleOf } from '../model/redirect-rules.ts'
import { calledUriFault } from './client-called-uri.ts'

/** The most entries in a list of a client. Each node keeps registered clients in memory, and a request is compared with these lists. */
export const ENTRIES_AT_MOST = 200

/** The faults of a new or changed client. */
export function clientFaults(client: Client): string[] {
  const long = listFaults(client)
  // The faults of single entries would be as many as the entries.
  if (long.length > 0) return long
  return [
    ...nameFaults(client),
    ...redirectUriFaults(client),
    ...responseModeFaults(client),
    ...scopeFaults(client),
    ...resourceFaults(client),
    ...authenticationFaults(client),
    ...grantTypeFaults(client),
    ...keyFaults(client),
    ...profileFaults(client),
    ...logoutFaults(client),
    ...lifetimeFaults(client),
  ]
}

function listFaults(client: Client): string[] {
  const lists = {
    'redirect URIs': client.redirectUris,
    scopes: client.scopes,
    'default scopes': client.defaultScopes,
    resources: client.resources,
    'exchange resources': client.exchangeResources,
    'response modes': client.responseModes ?? [],
    'grant types': client.grantTypes,
    'post-logout redirect URIs': client.postLogoutRedirectUris,
  }
  return Object.entries(lists)
    .filter(([, list]) => list.length > ENTRIES_AT_MOST)
    .map(([name, { length }]) => `A client has at most ${ENTRIES_AT_MOST} ${name}, not ${length}.`)
}

function nameFaults({ name }: Client): string[] {
  if (visibleText(name) === '') return ['A client needs a name that is visible: users see it when they sign in.']
  // With control characters or bidirectional overrides, a name could change how the surrounding page reads.
  if ([...name].length > 80 || hasInvisible(name)) return ['A name has at most 80 characters, none of them invisible.']
  return []
}

const REDIRECT_URI_WORDS = {
  not_rfc3986: 'is not a valid URI (RFC 3986).',
  has_fragment: 'has a fragment (#…), which is not allowed in a redirect URI (RFC 6749 section 3.1.2).',
  has_answer_parameter: 'has a query parameter that responses use: code, state, iss, error, error_description or response.',
  has_wildcard: 'has a wildcard in its host; redirect URIs match byte for byte, so register each one.',
  has_userinfo: 'has a user name in it, which could hide its host.',
  http_outside_loopback: 'is plain http outside loopback; use https.',
  scheme_not_allowed:
    'is neither https nor, for a --native client, a private-use scheme with a dot such as com.example.app:/callback.',
  too_long: 'is longer than 2,000 characters.',
}

function redirectUriFaults(client: Client): string[] {
  const faults = client.redirectUris.flatMap((uri) => {
    const fault = redirectUriFault(uri, schemeRuleOf(client))
    if (fault) return [`Redirect URI ${uri} ${REDIRECT_URI_WORDS[fault]}`]
    return isSignableUri(uri)
      ? []
      : [`Redirect URI ${uri} cannot be part of a text to sign; it needs a path and must have no user name.`]
  })
  const redirects = client.grantTypes.includes('authorization_code')
  if (
    client.redirectUris.length === 0 &&
    (redirects ||
      (client.resourceServer === null &&
        !hasTokensWithoutUser(client.grantTypes) &&
        !client.grantTypes.includes(DEVICE_CODE_GRANT)))
  ) {
    faults.push(
      'A client needs at least one redirect URI, unless it is a resource server or uses only client_credentials or device codes.',
    )
  }
  return faults
}

/** If `form_post` is the client's only response mode, the redirect URI must accept a form; otherwise even errors could not be sent. */
function responseModeFaults({ responseModes, redirectUris }: Client): string[] {
  if (responseModes?.length === 0) return ['The list of response modes must have at least one entry.']
  if (responseModes === null || !responseModes.every(isFormPost)) return []
  return redirectUris
    .filter((uri) => redirectUriFault(uri, 'private_use') === null && formOrigin(uri) === null)
    .map((uri) => `Redirect URI ${uri} cannot receive a form, and form_post is the only response mode of this client.`)
}

function scopeFaults(client: Client): string[] {
  const faults = client.scopes
    .filter((scope) => !isScopeName(scope))
    .map((scope) => `Scope ${JSON.stringify(scope)} is not 1 to 64 of A-Z a-z 0-9 . _ -`)
  if (client.scopes.length === 0) faults.push('A client needs at least one scope.')
  else if (client.defaultScopes.length === 0 || !isSubset(client.defaultScopes, client.scopes)) {
    faults.push('The default scopes must be some of the scopes.')
  }
  return faults
}

function resourceFaults(client: Client): string[] {
  return [...client.resources, ...client.exchangeResources, ...(client.resourceServer === null ? [] : [client.resourceServer])]
    .filter((resource) => !isSignableResourceUri(resource))
    .map(
      (resource) =>
        `Resource ${JSON.stringify(resource)} is not an absolute URI without fragment and percent signs (RFC 8707 section 2).`,
    )
}

/** RFC 9700 §2.5: a client that can keep a secret or a private key must authenticate. */
function authenticationFaults(client: Client): string[] {
  const faults: string[] = []
  if (client.type === 'confidential' && client.authMethod === 'none')
    faults.push('A confidential client must authenticate. For a client without a secret, use --public.')
  if (client.type !== 'confidential' && client.authMethod !== 'none')
    faults.push('A public client has neither a secret nor a key: the only authentication method is none.')
  if (client.type !== 'confidential' && client.resourceServer !== null)
    faults.push('A resource server must be able to keep a secret.')
  if (client.type === 'native' && client.consent !== 'signed') faults.push('A native client always needs a signed consent.')
  return faults
}

function grantTypeFaults({ grantTypes: allowed, type, resourceServer, exchangeResources }: Client): string[] {
  const faults: string[] = []
  if (allowed.includes('refresh_token') && !allowed.includes('authorization_code') && !allowed.includes(DEVICE_CODE_GRANT)) {
    faults.push(
      `Refresh tokens come from authorization codes or device codes: allow authorization_code or ${DEVICE_CODE_GRANT} too.`,
    )
  }
  // RFC 6749 §4.4: "MUST only be used by confidential clients". RFC 8693 §2.1: without client authentication, a stolen token could be
  // exchanged for others.
  for (const name of allowed.filter((each) => grantTypes[each].needsConfidentialClient && type !== 'confidential'))
    faults.push(`Only a confidential client may use ${name}.`)
  if (allowed.includes(TOKEN_EXCHANGE) && type === 'confidential' && resourceServer === null)
    faults.push('Only a resource server receives tokens that it can exchange: use --resource-server.')
  if (exchangeResources.length > 0 && !allowed.includes(TOKEN_EXCHANGE))
    faults.push(`Exchange resources need the grant type: use --grant-type ${TOKEN_EXCHANGE}.`)
  return faults
}

function keyFaults(client: Client): string[] {
  const { jwks, jwksUri } = client
  const faults = jwks === null ? [] : jwkSetFaults(jwks).map((fault) => `The JWK Set${fault.startsWith(':') ? '' : ' '}${fault}.`)
  // RFC 7591 §2: "The 'jwks_uri' and 'jwks' parameters MUST NOT both be present"
  if (jwks !== null && jwksUri !== null) faults.push('Register either a JWK Set or a JWK Set URI, not both.')
  const fault = jwksUri === null ? null : calledUriFault(jwksUri)
  if (fault !== null) faults.push(`The JWK Set URI ${fault}`)
  if (jwks === null && jwksUri === null) {
    if (client.authMethod === 'private_key_jwt')
      faults.push('private_key_jwt needs the public keys of the client: use --jwks or --jwks-uri.')
    if (client.requestObjectSigned)
      faults.push('Signed request objects need the public keys of the client: use --jwks or --jwks-uri.')
  }
  return faults
}

/** FAPI 2.0 Security Profile §5.3.2.1, §5.3.2.2, §5.4.1. `applyProfile` sets the members that have only one possible value. */
function profileFaults(client: Client): string[] {
  if (client.profile !== 'fapi2') return []
  // "shall only support confidential clients"
  if (client.type !== 'confidential') return ['A fapi2 client must be confidential.']
  const faults: string[] = []
  // "shall authenticate clients using one of [...] private_key_jwt"
  if (client.authMethod !== 'private_key_jwt') faults.push('A fapi2 client must authenticate with private_key_jwt.')
  // "shall support the authorization code grant": a device code is bound to no browser.
  if (client.grantTypes.includes(DEVICE_CODE_GRANT)) faults.push('A fapi2 client cannot use device codes.')
  // "shall not allow clients to use redirect URIs that use the http scheme". The exception is for native clients, which are public.
  for (const uri of client.redirectUris.filter((each) => !/^https:/i.test(each)))
    faults.push(`Redirect URI ${uri} is not https, which a fapi2 client requires.`)
  // §5.4.1: "shall use PS256, ES256, or EdDSA"
  if (client.idTokenAlgorithm === 'RS256')
    faults.push('ID tokens for a fapi2 client must be signed with ES256 or EdDSA, not RS256.')
  if (client.introspectionSigned === 'RS256')
    faults.push('Introspection responses to a fapi2 client must be signed with ES256 or EdDSA, not RS256.')
  if (client.authorizationAlgorithm === 'RS256')
    faults.push('Authorization responses to a fapi2 client must be signed with ES256 or EdDSA, not RS256.')
  return faults
}

/** OpenID Connect RP-Initiated Logout §2, §3.1, Back-Channel Logout §2.2 */
function logoutFaults(client: Client): string[] {
  const faults = client.postLogoutRedirectUris.flatMap((uri) => {
    const fault = redirectUriFault(uri, schemeRuleOf(client))
    return fault ? [`Post-logout redirect URI ${uri} ${REDIRECT_URI_WORDS[fault]}`] : []
  })
  const fault = client.backchannelLogoutUri === null ? null : calledUriFault(client.backchannelLogoutUri)
  if (fault !== null) faults.push(`The back-channel logout URI ${fault}`)
  if (client.backchannelLogoutSessionRequired && client.backchannelLogoutUri === null)
    faults.push('A back-channel logout session is required only with a back-channel logout URI: use --backchannel-logout-uri.')
  return faults
}

/** `client-lifetimes.ts` applies the bounds of the operator at each use, because the settings can change. */
function lifetimeFaults({ refreshIdleLifetime: idle, grantLifetime: whole }: Client): string[] {
  return idle !== null && whole !== null && idle > whole
    ? ['The lifetime of unused refresh tokens must not be longer than the lifetime of grants.']
    : []
}
