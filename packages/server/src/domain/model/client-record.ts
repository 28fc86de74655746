/** A client as the stores keep it: one JSON text. Members that an older program did not write get a default value. */
import type { Client } from './records.ts'

/** The members that are missing in records of earlier versions. */
export const CLIENT_DEFAULTS = {
  exchangeResources: [],
  profile: 'default',
  jwks: null,
  jwksUri: null,
  // Clients that were registered before this member existed may use an endpoint.
  assertionAudience: 'endpoint',
  requirePushedRequests: false,
  requestObjectSigned: false,
  dpopBound: false,
  idTokenAlgorithm: 'ES256',
  introspectionSigned: null,
  authorizationAlgorithm: 'ES256',
  responseModes: null,
  postLogoutRedirectUris: [],
  backchannelLogoutUri: null,
  backchannelLogoutSessionRequired: false,
  codeLifetime: null,
  accessTokenLifetime: null,
  refreshIdleLifetime: null,
  grantLifetime: null,
  tokenLimit: null,
  introspectionLimit: null,
  revocationLimit: null,
  logo: null,
} as const satisfies Partial<Client>

export function parseClientRecord(record: string): Client {
  const known = JSON.parse(record) as Omit<Client, keyof typeof CLIENT_DEFAULTS>
  return { ...CLIENT_DEFAULTS, exchangeResources: [], postLogoutRedirectUris: [], ...known }
}
