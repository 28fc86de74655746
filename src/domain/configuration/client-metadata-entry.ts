/**
 * The entry that client metadata describes (RFC 7591 §2, OpenID Connect Dynamic Client Registration §2, and the specifications that
 * registered further members). A member that Grantor does not support is a fault: leaving it out could weaken the client.
 */
import { clientMembers, type Members, type MemberTable } from './members.ts'

const text = { kind: 'text' } as const

/** The members of the metadata. Those with the same name in an entry have the same meaning. */
export const metadataMembers = {
  client_id: clientMembers.client_id,
  client_name: { key: 'client_name', shape: text, required: true },
  application_type: { key: 'application_type', shape: { kind: 'text', choices: ['web', 'native'] } },
  redirect_uris: clientMembers.redirect_uris,
  token_endpoint_auth_method: clientMembers.token_endpoint_auth_method,
  grant_types: clientMembers.grant_types,
  response_types: { key: 'response_types', shape: { kind: 'texts', choices: ['code'] } },
  scope: { key: 'scope', shape: text },
  jwks: clientMembers.jwks,
  jwks_uri: clientMembers.jwks_uri,
  require_pushed_authorization_requests: clientMembers.require_pushed_authorization_requests,
  require_signed_request_object: clientMembers.require_signed_request_object,
  dpop_bound_access_tokens: clientMembers.dpop_bound_access_tokens,
  id_token_signed_response_alg: clientMembers.id_token_signed_response_alg,
  introspection_signed_response_alg: clientMembers.introspection_signed_response_alg,
  authorization_signed_response_alg: clientMembers.authorization_signed_response_alg,
  post_logout_redirect_uris: clientMembers.post_logout_redirect_uris,
  backchannel_logout_uri: clientMembers.backchannel_logout_uri,
  backchannel_logout_session_required: clientMembers.backchannel_logout_session_required,
} as const satisfies MemberTable

/** The members of the entry. Missing metadata has the defaults of RFC 7591 §2, not those of an entry. */
export function entryOfMetadata(metadata: Members): { members: Members; faults: string[] } {
  const {
    client_name: name,
    application_type: application = 'web',
    response_types: responseTypes,
    scope,
    ...same
  } = { grant_types: ['authorization_code'], ...metadata } as Members & { scope?: string; grant_types: string[] }
  // RFC 7591 §2.1: the response type `code` belongs to the grant type `authorization_code`.
  const expected = same.grant_types.includes('authorization_code') ? ['code'] : []
  const isConsistent = responseTypes === undefined || JSON.stringify(responseTypes) === JSON.stringify(expected)
  const isPublic = same.token_endpoint_auth_method === 'none'
  return {
    members: {
      ...same,
      name,
      type: isPublic ? (application === 'native' ? 'native' : 'public') : 'confidential',
      ...(scope === undefined ? {} : { scopes: scope.split(' ').filter((each) => each !== '') }),
    },
    faults: isConsistent ? [] : [`response_types must be ${JSON.stringify(expected)} with these grant_types`],
  }
}
