/**
 * The scopes whose meaning the service defines (OpenID Connect Core §5.4), each with its claims, written once. The metadata, the ID
 * token, the userinfo endpoint, the login page and the settings derive their lists from this table. All other scopes belong to
 * resource APIs. `OWN_DESCRIPTIONS` (own-descriptions.ts) has what users read about them.
 */

/** The user whom the claims describe. */
export type Account = {
  /** with checksum */
  wallet: string
  /** the chain of the sign-in */
  chainId: number
  /** what people call the account: a name, or the short form of the address. Not unique, and can change */
  name: string
  /** the URL of the account's picture */
  picture: string
}

/** The scope whose claims are the name and the picture of the account. */
export const NAME_SCOPE = 'profile'

/** The scope that gives an app the text that the user signed for this app. */
export const SIGNED_TEXT_SCOPE = 'siwe'

/** The claims of `SIGNED_TEXT_SCOPE`: the ERC-4361 text and the signature in hex. They are in the userinfo response only, because ID tokens are sent in URLs. */
export type SignedTextClaims = { siwe_message: string; siwe_signature: string }

type StandardScope = {
  /** true if the user cannot decline the scope */
  isRequired: boolean
  /** from a claim to its value */
  claims: Readonly<Record<string, (account: Account) => string | number>>
}

const standardScopes: Readonly<Record<string, StandardScope>> = {
  openid: {
    // The app expects an ID token and could not use a response without one.
    isRequired: true,
    // The claims of every ID token are in `makeIdToken`.
    claims: {},
  },
  wallet: {
    isRequired: false,
    claims: {
      wallet_address: ({ wallet }) => wallet,
      chain_id: ({ chainId }) => chainId,
      // CAIP-10: the account on the chain of the sign-in
      account_id: ({ wallet, chainId }) => `eip155:${chainId}:${wallet}`,
    },
  },
  // Core §5.4. `sub` identifies the user: §5.7 forbids to identify a user by a name.
  [NAME_SCOPE]: {
    isRequired: false,
    claims: {
      name: ({ name }) => name,
      preferred_username: ({ name }) => name,
      picture: ({ picture }) => picture,
    },
  },
  [SIGNED_TEXT_SCOPE]: { isRequired: false, claims: {} },
}

const signedTextClaims: readonly (keyof SignedTextClaims)[] = ['siwe_message', 'siwe_signature']

/** The scopes that OpenID Connect Core defines beside `openid` (§5.4, §11). Most of them have no meaning here. */
const CORE_SCOPES = ['profile', 'email', 'address', 'phone', 'offline_access']

export const STANDARD_SCOPES: readonly string[] = Object.keys(standardScopes)

/** Every claim that a scope can add. */
export const SCOPE_CLAIMS: readonly string[] = [
  ...Object.values(standardScopes).flatMap(({ claims }) => Object.keys(claims)),
  ...signedTextClaims,
]

export function isStandardScope(scope: string): boolean {
  return Object.hasOwn(standardScopes, scope)
}

/**
 * Whether a client may have the scope in its requests without a registration for the scope. Libraries request such scopes by default, so the
 * service leaves them out of the grant (RFC 6749 §3.3). Without `openid` itself, the library could not process the response.
 */
export function isOptionalScope(scope: string): boolean {
  return CORE_SCOPES.includes(scope) || (isStandardScope(scope) && !isRequiredScope(scope))
}

export function isRequiredScope(scope: string): boolean {
  return isStandardScope(scope) && standardScopes[scope]?.isRequired === true
}

/** The claims that these scopes add to an ID token and to the userinfo response (OpenID Connect Core §5.4). */
export function claimsOfScopes(account: Account, scopes: readonly string[]): Record<string, string | number> {
  const claims: Record<string, string | number> = {}
  for (const scope of scopes.filter(isStandardScope)) {
    for (const [claim, valueOf] of Object.entries(standardScopes[scope]?.claims ?? {})) claims[claim] = valueOf(account)
  }
  return claims
}
