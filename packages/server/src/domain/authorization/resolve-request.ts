/** Finds the parameters of an authorization request: in the query, in a request object (RFC 9101), or in a pushed request (RFC 9126). */
import { invalidRequest, requestUriNotSupported } from '../../protocol/oauth/oauth-error.ts'
import { parseRequestUri } from '../../protocol/oauth/request-uri.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { findPushed, type PushedFault } from './pushed-request.ts'
import { openRequestObject } from './request-object.ts'
import { type ReceivedRequest, takeRequest } from './request-parameters.ts'

/** A returned fault is shown to the user: the client cannot be notified, because the author of the link is unknown. */
export async function resolveRequest(
  deps: Deps,
  client: Client,
  { query, network }: { query: ReceivedRequest; network: string },
): Promise<ReceivedRequest | PushedFault | 'request_uri_malformed'> {
  const { request, request_uri: requestUri } = query.taken.values
  // OpenID Connect Core §6, RFC 9101 §5: "If this parameter is present in the authorization request, request_uri MUST NOT be present."
  if (request !== null && requestUri !== null) throw invalidRequest('request_twice', 'Send request or request_uri, not both.')
  if (requestUri !== null) {
    const uri = parseRequestUri(requestUri)
    // Not supported (OpenID Connect Core §6.2): the service would fetch a URL that any caller can choose (RFC 9101 §10.4).
    if (uri.kind === 'address') throw requestUriNotSupported()
    return uri.kind === 'pushed' ? findPushed(deps, client, uri.id) : 'request_uri_malformed'
  }
  // RFC 9126 §6
  if (client.requirePushedRequests) throw invalidRequest('request_not_pushed', 'This client must push its requests.')
  // RFC 9101 §6.3: "The authorization server MUST only use the parameters in the Request Object"
  return request === null
    ? query
    : takeRequest(await openRequestObject(deps, client, { text: request, network }), { signed: true })
}
