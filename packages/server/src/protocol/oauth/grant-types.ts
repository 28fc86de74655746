/**
 * The grant types, written once. The token endpoint, the metadata, the registration of clients, the commands and the error texts
 * derive their lists from this table.
 */

type GrantParameter =
  | 'code'
  | 'device_code'
  | 'redirect_uri'
  | 'code_verifier'
  | 'refresh_token'
  | 'subject_token'
  | 'subject_token_type'
  | 'requested_token_type'
  | 'actor_token'
  | 'actor_token_type'

type GrantTypeFacts = {
  /** the parameters of the token request that belong to this grant type alone */
  parameters: readonly GrantParameter[]
  /** for operators: what the client receives */
  words: string
  /** true if only confidential clients may use the grant type */
  needsConfidentialClient: boolean
  /** true if the tokens are for the client itself: without a user, and without a row of their own */
  isWithoutUser: boolean
}

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
/** RFC 8628 §3.4 */
export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | typeof TOKEN_EXCHANGE
  | typeof DEVICE_CODE_GRANT

export const grantTypes: Readonly<Record<GrantType, GrantTypeFacts>> = {
  // RFC 6749 §4.1.3, RFC 7636 §4.5
  authorization_code: {
    parameters: ['code', 'redirect_uri', 'code_verifier'],
    words: 'tokens for a user who consented',
    needsConfidentialClient: false,
    isWithoutUser: false,
  },
  // RFC 6749 §6
  refresh_token: {
    parameters: ['refresh_token'],
    words: 'new tokens until the end of the grant',
    needsConfidentialClient: false,
    isWithoutUser: false,
  },
  // RFC 6749 §4.4: "MUST only be used by confidential clients"
  client_credentials: {
    parameters: [],
    words: 'tokens for the client itself, without a user',
    needsConfidentialClient: true,
    isWithoutUser: true,
  },
  // RFC 8693 §2.1. `audience` is also a parameter of this grant type; unlike these it may be repeated.
  [TOKEN_EXCHANGE]: {
    parameters: ['subject_token', 'subject_token_type', 'requested_token_type', 'actor_token', 'actor_token_type'],
    words: 'a narrower token for an API behind this resource server, in exchange for the token of a call',
    needsConfidentialClient: true,
    isWithoutUser: false,
  },
  [DEVICE_CODE_GRANT]: {
    parameters: ['device_code'],
    words: 'tokens for a user who consented on another device (RFC 8628); needs no redirect URI',
    needsConfidentialClient: false,
    isWithoutUser: false,
  },
}

export const GRANT_TYPES = Object.keys(grantTypes) as GrantType[]

/** The parameters of all grant types. */
export const GRANT_PARAMETERS = GRANT_TYPES.flatMap((each) => grantTypes[each].parameters)

export function isGrantType(name: string): name is GrantType {
  return Object.hasOwn(grantTypes, name)
}

/** True if one of these grant types gives the client tokens for itself. */
export function hasTokensWithoutUser(allowed: readonly GrantType[]): boolean {
  return allowed.some((each) => grantTypes[each].isWithoutUser)
}

/** The names as a list in a sentence: `a, b or c`. */
export function listOfGrantTypes(): string {
  return `${GRANT_TYPES.slice(0, -1).join(', ')} or ${GRANT_TYPES.at(-1)}`
}
