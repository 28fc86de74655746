/**
 * The entry that client metadata describes (RFC 7591 §2, OpenID Connect Dynamic Client Registration §2, and the specifications that
 * registered further members). A member that Grantor does not support is a fault: leaving it out could weaken the client.
 */
import { clientMembers } from '../members/client-members.ts'
import type { Member, Members } from '../members/member.ts'

const text = { kind: 'text' } as const

/** The members of the metadata. Those with the same name in an entry have the same meaning. */
export const metadataMembers: readonly Member[] = [
  clientMembers.id,
  { name: 'client_name', shape: text, required: true },
  { name: 'application_type', shape: { kind: 'text', choices: ['web', 'native'] } },
  clientMembers.redirectUris,
  clientMembers.authMethod,
  clientMembers.grantTypes,
  { name: 'response_types', shape: { kind: 'texts', choices: ['code'] } },
  { name: 'scope', shape: text },
  // OpenID Connect Core §8: every client reads the same `sub`.
  { name: 'subject_type', shape: { kind: 'text', choices: ['public'] } },
  clientMembers.jwks,
  clientMembers.jwksUri,
  clientMembers.requirePushedRequests,
  clientMembers.requestObjectSigned,
  clientMembers.dpopBound,
  clientMembers.idTokenAlgorithm,
  clientMembers.introspectionSigned,
  clientMembers.authorizationAlgorithm,
  clientMembers.postLogoutRedirectUris,
  clientMembers.backchannelLogoutUri,
  clientMembers.backchannelLogoutSessionRequired,
]

/** The members of the entry. Missing metadata has the defaults of RFC 7591 §2, not those of an entry. */
export function entryOfMetadata(metadata: Members): { members: Members; faults: string[] } {
  const {
    client_name: name,
    application_type: application = 'web',
    response_types: responseTypes,
    scope,
    subject_type: _,
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
