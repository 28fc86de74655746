/** Where an authorization request is: in the query itself, in a request object there (RFC 9101), or pushed before (RFC 9126). */
import { invalidRequest, requestUriNotSupported } from '../oauth/oauth-error.ts'
import { parseRequestUri } from '../oauth/request-uri.ts'
import { type AskedRequest, takeRequest } from './asked-request.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'
import { findPushed, type PushedFault } from './pushed-request.ts'
import { openRequestObject } from './request-object.ts'

/** A fault is one that nobody can be told of but the person: whoever made the link is not known. */
export async function resolveRequest(
  deps: Deps,
  client: Client,
  query: AskedRequest,
): Promise<AskedRequest | PushedFault | 'request_uri_malformed'> {
  const { request, request_uri: requestUri } = query.taken.values
  // OpenID Connect Core §6, RFC 9101 §5: "If this parameter is present in the authorization request, request_uri MUST NOT be present."
  if (request !== null && requestUri !== null) throw invalidRequest('request_twice', 'Send request or request_uri, not both.')
  if (requestUri !== null) {
    const uri = parseRequestUri(requestUri)
    // A fetch from an address that a stranger chose (RFC 9101 §10.4); not offered (OpenID Connect Core §6.2).
    if (uri.kind === 'address') throw requestUriNotSupported()
    return uri.kind === 'pushed' ? findPushed(deps, client, uri.id) : 'request_uri_malformed'
  }
  // RFC 9126 §6
  if (client.requirePushedRequests) throw invalidRequest('request_not_pushed', 'This client must push its requests.')
  // RFC 9101 §6.3: "The authorization server MUST only use the parameters in the Request Object"
  return request === null ? query : takeRequest(await openRequestObject(deps, client, request), { signed: true })
}
