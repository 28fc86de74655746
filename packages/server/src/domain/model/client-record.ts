/** A client as the stores keep it: one JSON text. A member that the program of another node does not write yet gets its default value. */
import type { Client } from './records.ts'

/** The values of a client that names none of these members. */
export const CLIENT_DEFAULTS = {
  exchangeResources: [],
  profile: 'default',
  jwks: null,
  jwksUri: null,
  assertionAudience: 'issuer',
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
