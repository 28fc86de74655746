/** A client as the stores keep it: one JSON text. What an older program did not know yet is read as its usual value. */
import type { Client } from './model.ts'

/** What a record of before OpenID Connect and clients with keys lacks. */
export const CLIENT_DEFAULTS = {
  profile: 'default',
  jwks: null,
  jwksUri: null,
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
} as const satisfies Partial<Client>

export function parseClientRecord(record: string): Client {
  const known = JSON.parse(record) as Omit<Client, keyof typeof CLIENT_DEFAULTS>
  return { ...CLIENT_DEFAULTS, postLogoutRedirectUris: [], ...known }
}
