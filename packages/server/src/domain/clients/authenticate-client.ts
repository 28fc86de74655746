/**
 * Client authentication (RFC 6749 §2.3, §3.2.1, §4.1.3, §10.2; RFC 7521 §4.2; OpenID Connect Core §3.1.3.2). Each client is
 * registered for one method and can use no other. Credentials in the query are never read (RFC 6749 §2.3.1).
 */

import { secretMatches } from '../../protocol/keys/secret.ts'
import type { BasicCredentials } from '../../protocol/oauth/basic-credentials.ts'
import { looksLikeClientIdUrl } from '../../protocol/oauth/client-id-url.ts'
import { invalidClient, invalidRequest, OAuthError, wrongAuthMethod } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { assertionIssuer, CLIENT_ASSERTION_TYPE, proveAssertion, readAssertion } from './client-assertion.ts'
import { ifEnabled } from './client-directory.ts'
import { unknownClient } from './unknown-client.ts'

export type PresentedCredentials = {
  basic: BasicCredentials
  /** `client_id` of the body; identifies a public client */
  clientId: string | null
  clientSecret: string | null
  assertion: string | null
  assertionType: string | null
  /** the network of the caller (`observability/log/network.ts`) */
  network: string
}

/** `all`: also public clients, which send only their `client_id`. `authenticated`: only clients that authenticate. */
export type AcceptedClients = 'all' | 'authenticated'

export async function authenticateClient(
  deps: Deps,
  presented: PresentedCredentials,
  accepted: AcceptedClients,
): Promise<Client> {
  const { basic, clientId, clientSecret, assertion, assertionType, network } = presented
  // RFC 6749 §2.3: "The client MUST NOT use more than one authentication method in each request."
  const ways = [basic.kind !== 'absent', clientSecret !== null, assertion !== null || assertionType !== null]
  if (ways.filter(Boolean).length > 1) {
    throw invalidRequest('two_client_auth_methods', 'Send client credentials in one way only.')
  }
  if (basic.kind !== 'absent') {
    if (basic.kind === 'malformed') throw invalidClient('credentials_malformed')
    if (clientId !== null && clientId !== basic.id) {
      throw invalidRequest('client_id_mismatch', 'client_id in the body is not the one in the Authorization header.')
    }
    return proveSecret(deps, { clientId: basic.id, secret: basic.secret, method: 'client_secret_basic' }, network)
  }
  if (assertion !== null || assertionType !== null) {
    if (assertion === null)
      throw invalidRequest('client_assertion_missing', 'client_assertion is required with client_assertion_type.')
    if (assertionType === null) {
      throw invalidRequest('client_assertion_type_missing', 'client_assertion_type is required with client_assertion.')
    }
    if (assertionType !== CLIENT_ASSERTION_TYPE) throw invalidClient('client_assertion_type_unknown')
    const { issuer, jwt } = readAssertion(assertion, clientId)
    return authenticate(deps, issuer, network, (client) => proveAssertion(deps, client, jwt, network))
  }
  if (clientId !== null && clientSecret !== null) {
    return proveSecret(deps, { clientId, secret: clientSecret, method: 'client_secret_post' }, network)
  }
  // RFC 6749 §2.2: `client_id` alone does not authenticate a client. It only identifies a public client.
  if (clientId === null || accepted === 'authenticated') throw invalidClient('credentials_absent')
  return authenticate(deps, clientId, network, (client) => {
    if (client?.authMethod === 'none') return client
    throw client || !looksLikeClientIdUrl(clientId) ? invalidClient('credentials_absent') : unknownClient(deps, clientId)
  })
}

/** The client id that a request claims. Nothing is proved yet. */
export function claimedClientId({ basic, clientId, assertion }: PresentedCredentials): string | null {
  if (basic.kind === 'credentials') return basic.id
  return clientId ?? (assertion === null ? null : assertionIssuer(assertion))
}

/**
 * Calls `prove` with the enabled client that has this id, or with null. If the client is in memory, a success needs no query. A failure
 * needs one query, whether the client is unknown, disabled or registered: otherwise the time of a refusal would show which ids exist.
 */
async function authenticate(
  deps: Deps,
  clientId: string,
  network: string,
  prove: (client: Client | null) => Client | Promise<Client>,
): Promise<Client> {
  const known = deps.clients.findCached(clientId)
  let failure: OAuthError | null = null
  if (known) {
    try {
      return await prove(ifEnabled(known))
    } catch (error) {
      if (!(error instanceof OAuthError) || error.error !== 'invalid_client') throw error
      failure = error
    }
  }
  const client = await deps.clients.findStored(clientId, network)
  if (failure && client === known) throw failure
  return prove(ifEnabled(client))
}

type PresentedSecret = { clientId: string; secret: string; method: Client['authMethod'] }

function proveSecret(deps: Deps, { clientId, secret, method }: PresentedSecret, network: string): Promise<Client> {
  return authenticate(deps, clientId, network, (client) => {
    const at = deps.now()
    const valid = client?.secrets.filter((each) => each.expiresAt === null || each.expiresAt > at) ?? []
    // The secret is compared even if the client is unknown, so that the response time is the same.
    const matches = secretMatches(
      secret,
      valid.map((each) => each.secretHash),
    )
    if (!client) throw unknownClient(deps, clientId)
    if (!matches) throw invalidClient('secret_wrong')
    if (client.authMethod !== method) throw wrongAuthMethod(client.authMethod)
    return client
  })
}
