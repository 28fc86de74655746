/** Checks the metadata of a client. Each fault names a member of the client, and is one line (RFC 6749 §2, §3.1.2.2, §10.2, §10.6, RFC 7591 §2). */
import { jwkSetFaults } from '@grantor/protocol/public-jwk'
import { isScopeName, isSubset } from '@grantor/protocol/scope'
import { DEVICE_CODE_GRANT, grantTypes, hasTokensWithoutUser, TOKEN_EXCHANGE } from '../../protocol/oauth/grant-types.ts'
import { formOrigin, redirectUriFault } from '../../protocol/oauth/redirect-uri.ts'
import { isSignableResourceUri } from '../../protocol/oauth/resource-uri.ts'
import { isFormPost } from '../../protocol/oauth/response-mode.ts'
import { hasInvisible, visibleText } from '../../protocol/oauth/visible-text.ts'
import { isSignableUri } from '../../protocol/wallet/message-grammar.ts'
import type { Fault } from '../model/fault.ts'
import type { Client } from '../model/records.ts'
import { schemeRuleOf } from '../model/redirect-rules.ts'
import { calledUriFault } from './client-called-uri.ts'

/** The most entries in a list of a client. Each node keeps registered clients in memory, and a request is compared with these lists. */
export const ENTRIES_AT_MOST = 200

export type ClientFault = Fault<keyof Client>

/** The faults of a new or changed client. */
export function clientFaults(client: Client): ClientFault[] {
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

/** Each list of a client, with its name in a sentence. */
const LISTS = {
  redirectUris: 'redirect URIs',
  scopes: 'scopes',
  defaultScopes: 'default scopes',
  resources: 'resources',
  exchangeResources: 'exchange resources',
  responseModes: 'response modes',
  grantTypes: 'grant types',
  postLogoutRedirectUris: 'post-logout redirect URIs',
} as const
type ListMember = keyof typeof LISTS

function listFaults(client: Client): ClientFault[] {
  return (Object.entries(LISTS) as [ListMember, string][]).flatMap(([member, name]) => {
    const { length } = client[member] ?? []
    return length > ENTRIES_AT_MOST ? [fault(member, `A client has at most ${ENTRIES_AT_MOST} ${name}, not ${length}.`)] : []
  })
}

function fault(member: keyof Client, words: string): ClientFault {
  return { member, words }
}

function nameFaults({ name }: Client): ClientFault[] {
  if (visibleText(name) === '') return [fault('name', 'A client needs a name that is visible: users see it when they sign in.')]
  // With control characters or bidirectional overrides, a name could change how the surrounding page reads.
  if ([...name].length > 80 || hasInvisible(name))
    return [fault('name', 'A name has at most 80 characters, none of them invisible.')]
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

function redirectUriFaults(client: Client): ClientFault[] {
  const faults = client.redirectUris.flatMap((uri) => {
    const found = redirectUriFault(uri, schemeRuleOf(client))
    if (found) return [fault('redirectUris', `Redirect URI ${uri} ${REDIRECT_URI_WORDS[found]}`)]
    return isSignableUri(uri)
      ? []
      : [
          fault(
            'redirectUris',
            `Redirect URI ${uri} cannot be part of a text to sign; it needs a path and must have no user name.`,
          ),
        ]
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
      fault(
        'redirectUris',
        'A client needs at least one redirect URI, unless it is a resource server or uses only client_credentials or device codes.',
      ),
    )
  }
  return faults
}

/** If `form_post` is the client's only response mode, the redirect URI must accept a form; otherwise even errors could not be sent. */
function responseModeFaults({ responseModes, redirectUris }: Client): ClientFault[] {
  if (responseModes?.length === 0) return [fault('responseModes', 'The list of response modes must have at least one entry.')]
  if (responseModes === null || !responseModes.every(isFormPost)) return []
  return redirectUris
    .filter((uri) => redirectUriFault(uri, 'private_use') === null && formOrigin(uri) === null)
    .map((uri) =>
      fault('redirectUris', `Redirect URI ${uri} cannot receive a form, and form_post is the only response mode of this client.`),
    )
}

function scopeFaults(client: Client): ClientFault[] {
  const faults = client.scopes
    .filter((scope) => !isScopeName(scope))
    .map((scope) => fault('scopes', `Scope ${JSON.stringify(scope)} is not 1 to 64 of A-Z a-z 0-9 . _ -`))
  if (client.scopes.length === 0) faults.push(fault('scopes', 'A client needs at least one scope.'))
  else if (client.defaultScopes.length === 0 || !isSubset(client.defaultScopes, client.scopes)) {
    faults.push(fault('defaultScopes', 'The default scopes must be some of the scopes.'))
  }
  return faults
}

function resourceFaults({ resources, exchangeResources, resourceServer }: Client): ClientFault[] {
  const lists = { resources, exchangeResources, resourceServer: resourceServer === null ? [] : [resourceServer] }
  return (Object.entries(lists) as [keyof typeof lists, string[]][]).flatMap(([member, list]) =>
    list
      .filter((resource) => !isSignableResourceUri(resource))
      .map((resource) =>
        fault(
          member,
          `Resource ${JSON.stringify(resource)} is not an absolute URI without fragment and percent signs (RFC 8707 section 2).`,
        ),
      ),
  )
}

/** RFC 9700 §2.5: a client that can keep a secret or a private key must authenticate. */
function authenticationFaults(client: Client): ClientFault[] {
  const faults: ClientFault[] = []
  if (client.type === 'confidential' && client.authMethod === 'none')
    faults.push(fault('authMethod', 'A confidential client must authenticate. For a client without a secret, use --public.'))
  if (client.type !== 'confidential' && client.authMethod !== 'none')
    faults.push(fault('authMethod', 'A public client has neither a secret nor a key: the only authentication method is none.'))
  if (client.type !== 'confidential' && client.resourceServer !== null)
    faults.push(fault('resourceServer', 'A resource server must be able to keep a secret.'))
  if (client.type === 'native' && client.consent !== 'signed')
    faults.push(fault('consent', 'A native client always needs a signed consent.'))
  return faults
}

function grantTypeFaults({ grantTypes: allowed, type, resourceServer, exchangeResources }: Client): ClientFault[] {
  const faults: ClientFault[] = []
  if (allowed.includes('refresh_token') && !allowed.includes('authorization_code') && !allowed.includes(DEVICE_CODE_GRANT)) {
    faults.push(
      fault(
        'grantTypes',
        `Refresh tokens come from authorization codes or device codes: allow authorization_code or ${DEVICE_CODE_GRANT} too.`,
      ),
    )
  }
  // RFC 6749 §4.4: "MUST only be used by confidential clients". RFC 8693 §2.1: without client authentication, a stolen token could be
  // exchanged for others.
  for (const name of allowed.filter((each) => grantTypes[each].needsConfidentialClient && type !== 'confidential'))
    faults.push(fault('grantTypes', `Only a confidential client may use ${name}.`))
  if (allowed.includes(TOKEN_EXCHANGE) && type === 'confidential' && resourceServer === null)
    faults.push(fault('resourceServer', 'Only a resource server receives tokens that it can exchange: use --resource-server.'))
  if (exchangeResources.length > 0 && !allowed.includes(TOKEN_EXCHANGE))
    faults.push(fault('exchangeResources', `Exchange resources need the grant type: use --grant-type ${TOKEN_EXCHANGE}.`))
  return faults
}

function keyFaults(client: Client): ClientFault[] {
  const { jwks, jwksUri } = client
  const faults =
    jwks === null
      ? []
      : jwkSetFaults(jwks).map((words) => fault('jwks', `The JWK Set${words.startsWith(':') ? '' : ' '}${words}.`))
  // RFC 7591 §2: "The 'jwks_uri' and 'jwks' parameters MUST NOT both be present"
  if (jwks !== null && jwksUri !== null) faults.push(fault('jwks', 'Register either a JWK Set or a JWK Set URI, not both.'))
  const ofUri = jwksUri === null ? null : calledUriFault(jwksUri)
  if (ofUri !== null) faults.push(fault('jwksUri', `The JWK Set URI ${ofUri}`))
  if (jwks === null && jwksUri === null) {
    if (client.authMethod === 'private_key_jwt')
      faults.push(fault('authMethod', 'private_key_jwt needs the public keys of the client: use --jwks or --jwks-uri.'))
    if (client.requestObjectSigned)
      faults.push(fault('jwks', 'Signed request objects need the public keys of the client: use --jwks or --jwks-uri.'))
  }
  return faults
}

/** FAPI 2.0 Security Profile §5.3.2.1, §5.3.2.2, §5.4.1. `applyProfile` sets the members that have only one possible value. */
function profileFaults(client: Client): ClientFault[] {
  if (client.profile !== 'fapi2') return []
  // "shall only support confidential clients"
  if (client.type !== 'confidential') return [fault('profile', 'A fapi2 client must be confidential.')]
  const faults: ClientFault[] = []
  // "shall authenticate clients using one of [...] private_key_jwt"
  if (client.authMethod !== 'private_key_jwt')
    faults.push(fault('authMethod', 'A fapi2 client must authenticate with private_key_jwt.'))
  // "shall support the authorization code grant": a device code is bound to no browser.
  if (client.grantTypes.includes(DEVICE_CODE_GRANT)) faults.push(fault('grantTypes', 'A fapi2 client cannot use device codes.'))
  // "shall not allow clients to use redirect URIs that use the http scheme". The exception is for native clients, which are public.
  for (const uri of client.redirectUris.filter((each) => !/^https:/i.test(each)))
    faults.push(fault('redirectUris', `Redirect URI ${uri} is not https, which a fapi2 client requires.`))
  // §5.4.1: "shall use PS256, ES256, or EdDSA"
  if (client.idTokenAlgorithm === 'RS256')
    faults.push(fault('idTokenAlgorithm', 'ID tokens for a fapi2 client must be signed with ES256 or EdDSA, not RS256.'))
  if (client.introspectionSigned === 'RS256')
    faults.push(
      fault('introspectionSigned', 'Introspection responses to a fapi2 client must be signed with ES256 or EdDSA, not RS256.'),
    )
  if (client.authorizationAlgorithm === 'RS256')
    faults.push(
      fault('authorizationAlgorithm', 'Authorization responses to a fapi2 client must be signed with ES256 or EdDSA, not RS256.'),
    )
  return faults
}

/** OpenID Connect RP-Initiated Logout §2, §3.1, Back-Channel Logout §2.2 */
function logoutFaults(client: Client): ClientFault[] {
  const faults = client.postLogoutRedirectUris.flatMap((uri) => {
    const found = redirectUriFault(uri, schemeRuleOf(client))
    return found ? [fault('postLogoutRedirectUris', `Post-logout redirect URI ${uri} ${REDIRECT_URI_WORDS[found]}`)] : []
  })
  const ofUri = client.backchannelLogoutUri === null ? null : calledUriFault(client.backchannelLogoutUri)
  if (ofUri !== null) faults.push(fault('backchannelLogoutUri', `The back-channel logout URI ${ofUri}`))
  if (client.backchannelLogoutSessionRequired && client.backchannelLogoutUri === null)
    faults.push(
      fault(
        'backchannelLogoutSessionRequired',
        'A back-channel logout session is required only with a back-channel logout URI: use --backchannel-logout-uri.',
      ),
    )
  return faults
}

/** `client-lifetimes.ts` applies the bounds of the operator at each use, because the settings can change. */
function lifetimeFaults({ refreshIdleLifetime: idle, grantLifetime: whole }: Client): ClientFault[] {
  return idle !== null && whole !== null && idle > whole
    ? [fault('refreshIdleLifetime', 'The lifetime of unused refresh tokens must not be longer than the lifetime of grants.')]
    : []
}
