/** The stored records: clients, grants, sessions and receipts. */

import type { Limit } from '@grantor/protocol/limit'
import type { JwkSet } from '@grantor/protocol/public-jwk'
import type { SigningAlgorithm } from '../../protocol/keys/signing-key.ts'
import type { GrantType } from '../../protocol/oauth/grant-types.ts'
import type { ResponseMode } from '../../protocol/oauth/response-mode.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { ScopeLimit } from '../../protocol/wallet/limit-words.ts'

export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none'

/** The `aud` of client assertions: the issuer only, or also the token endpoint and the endpoint for pushed requests. */
export type AssertionAudience = 'issuer' | 'endpoint'

/** `fapi2`: the stricter rules of the FAPI 2.0 Security Profile apply to the client. */
export type ClientProfile = 'default' | 'fapi2'

/** RFC 6749 §2.1 defines confidential and public clients. `native` is a public client on the user's device (RFC 8252). */
export type ClientType = 'confidential' | 'public' | 'native'

/** `session`: a valid session counts as consent. `signed`: the wallet must have signed a consent that covers the request. */
export type ConsentRule = 'session' | 'signed'

/** A client secret. Only the SHA-256 of the 256 random bits is stored. During a rotation two are valid, and the older one expires. */
export type ClientSecret = {
  secretHash: string
  expiresAt: number | null
  createdAt: number
}

/** The logo that an operator uploaded, a PNG. The bytes are in the store, apart from the record. */
export type ClientLogo = {
  /** SHA-256 in hexadecimal digits */
  hash: string
}

/** A registered client (RFC 6749 §2). */
export type Client = {
  /** a UUID */
  id: string
  name: string
  type: ClientType
  redirectUris: string[]
  scopes: string[]
  /** granted if a request names no scope (RFC 6749 §3.3) */
  defaultScopes: string[]
  /** resources that the client may request, besides the default resource (RFC 8707) */
  resources: string[]
  /** for a resource server: the resource. The client may introspect every token with that audience (RFC 7662 §2.1) */
  resourceServer: string | null
  /** resources for which a resource server may exchange the tokens that it receives (RFC 8693) */
  exchangeResources: string[]
  consent: ConsentRule
  requirePkce: boolean
  authMethod: ClientAuthMethod
  grantTypes: GrantType[]
  profile: ClientProfile
  /** the registered public keys (RFC 7591 §2); at most one of `jwks` and `jwksUri` is set */
  jwks: JwkSet | null
  /** the URI that serves the public keys */
  jwksUri: string | null
  assertionAudience: AssertionAudience
  /** RFC 9126 §6 */
  requirePushedRequests: boolean
  /** true if the client must send signed request objects (RFC 9101 §10.5) */
  requestObjectSigned: boolean
  /** true if all tokens of the client are bound to a DPoP key (RFC 9449 §5.2) */
  dpopBound: boolean
  idTokenAlgorithm: SigningAlgorithm
  /** the algorithm of signed introspection responses; null for the algorithm of access tokens (RFC 9701 §6) */
  introspectionSigned: SigningAlgorithm | null
  /** the algorithm of authorization responses in a signed response mode (JARM §3) */
  authorizationAlgorithm: SigningAlgorithm
  /** the response modes that the client may use; null for all (FAPI 2.0 Message Signing §5.3.3) */
  responseModes: ResponseMode[] | null
  /** OpenID Connect RP-Initiated Logout §3.1 */
  postLogoutRedirectUris: string[]
  /** OpenID Connect Back-Channel Logout §2.2 */
  backchannelLogoutUri: string | null
  backchannelLogoutSessionRequired: boolean
  /** seconds; null for the lifetime that the service gives. `client-lifetimes.ts` applies the bounds of the operator. */
  codeLifetime: number | null
  accessTokenLifetime: number | null
  refreshIdleLifetime: number | null
  grantLifetime: number | null
  /** requests per minute; null for no limit of the client's own */
  tokenLimit: number | null
  introspectionLimit: number | null
  revocationLimit: number | null
  /** null for a client without a logo, and for every client that no operator registered */
  logo: ClientLogo | null
  /** empty for a public client and for a client that authenticates with a private key */
  secrets: ClientSecret[]
  createdAt: number
  disabledAt: number | null
}

/**
 * The source of a client's metadata: the registration in the store, the metadata document at the client id, or dynamic registration (RFC 7591).
 */
export const CLIENT_KINDS = ['registered', 'metadata', 'dynamic'] as const
export type ClientKind = (typeof CLIENT_KINDS)[number]

/** `description`: what an app with the scope may do, for users. `limit`: the most that a user can sign; absent for a scope without a limit. */
export type ResourceScope = { name: string; description: string; limit?: Limit | undefined }

/** A registered resource: an API for which tokens are issued (RFC 8707). */
export type Resource = {
  /** the value of the parameter `resource`, and the audience of the tokens */
  uri: string
  name: string
  scopes: ResourceScope[]
  /** the kinds of clients that may request the resource; a registered client must also list it */
  openTo: ClientKind[]
  createdAt: number
}

export const OPERATOR_ROLES = ['owner', 'operator', 'auditor'] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/** A person or a program that may use the admin API. */
export type Operator = {
  /** the address of a wallet, or the id of a registered client */
  id: string
  role: OperatorRole
  /** epoch seconds */
  createdAt: number
}

/** Long work that an operator or a user started. The work continues if the connection of the caller, or the process, ends. */
export type Job = {
  /** a UUID */
  id: string
  kind: 'end_grants_of_client' | 'delete_client' | 'end_grants_of_wallet' | 'end_matching_grants'
  /** empty if the grants of a wallet at all clients end */
  clientId: string
  /** the grants of this wallet end that are older than the epoch; null for the jobs of a client */
  ofWallet: { wallet: Address; epoch: number; reason: 'user' | 'operator' } | null
  /** of `end_matching_grants`: the other conditions, besides the client */
  matching?: { wallet: Address | null; scope: string | null; createdBefore: number | null } | undefined
  /** the id of the operator; the address of the wallet if its user started the job */
  startedBy: string
  createdAt: number
  /** how often the same job was started again while it was under way, and when it was the last time; absent if never */
  startedAgain?: number | undefined
  confirmedAt?: number | undefined
  /** the grants that were ended so far */
  grantsEnded: number
  /** when the work was done or stopped; null before */
  doneAt: number | null
  /** who stopped the job; absent unless an operator did */
  stoppedBy?: string | undefined
}

/** From each resource to its scopes. */
export type ScopesByResource = Readonly<Record<string, readonly string[]>>

/** Why a grant ended. The audit log and `grants list` show the reason; clients never receive it. docs/reference/errors.md is generated from this table. */
export const endReasons = {
  code_spent: 'The code was presented with a wrong or missing `code_verifier`, so no tokens were issued.',
  code_replayed: 'The code was presented a second time.',
  epoch_raised: 'The user ended things between the code and its exchange.',
  session_ended: 'The session of the code ended between the code and its exchange.',
  refresh_replayed: 'A used refresh token was presented again, after the retry window.',
  refresh_newer_than_row: 'The database lost a write that was acknowledged.',
  revoked: 'The client revoked the refresh token.',
  too_many_revoked_tokens: 'The client revoked more than 64 access tokens one by one.',
  operator: 'The operator ended the grant with `grantor grants revoke`.',
  client_deleted: 'The operator deleted the client.',
  user: 'The user ended the app or everything on the account page, or switched off a scope of the grant at a sign-in.',
  consent_missing: 'The consent was withdrawn, or the client now needs a signed one.',
  wallet_changed: 'The contract wallet has other owners now.',
  restored: 'The database was restored from a backup, and the operator ended what was uncertain.',
  superseded: 'The wallet has newer grants than it may have at one client.',
} as const
export type EndReason = keyof typeof endReasons

/** What the wallet signed of a limited scope. The grant keeps it, whatever the operator changes later. */
export type SignedLimit = ScopeLimit & {
  /** `Issued At` of the signed text: the periods are counted from this time */
  signedAt: number
}

/** What was drawn of the limit of a grant. */
export type Drawn = {
  /** the begin of the period of the other members; never before the begin that was stored last */
  from: number
  uses: number
  amount: number
  /** the number of all draws of the grant */
  draws: number
}

/** `ordinary`: the key of the address signs. `contract`: the contract at the address accepts signatures of the owners (ERC-1271). */
export type WalletKind = 'ordinary' | 'contract'

/** What one wallet allowed to one client, with the state of the refresh token. Tokens have no rows of their own. */
export type Grant = {
  /** a UUID, generated when the code was issued */
  id: string
  clientId: string
  wallet: Address
  walletKind: WalletKind
  /** the receipt of the text that the wallet signed; null if the login server vouched for the wallet */
  receiptId: string | null
  /** true if that text is the consent to this grant; false if the text is only the sign-in of the session */
  consented: boolean
  scopes: string[]
  resources: string[]
  /** the scopes of each resource; null if every resource has every scope */
  scopesByResource: ScopesByResource | null
  createdAt: number
  /** the absolute end of the grant */
  expiresAt: number
  /** when the current refresh token expires without use; never after `expiresAt` */
  refreshExpiresAt: number
  /** the number of the current refresh token; the first has 0 */
  generation: number
  /** the key that the current refresh token is derived from */
  refreshKeyId: string
  /** when the current refresh token was issued */
  rotatedAt: number
  endedAt: number | null
  endReason: EndReason | null
  /** RFC 7638 thumbprint of the key that the refresh token of a public client is bound to (RFC 9449 §5) */
  dpopJkt: string | null
  /** when the wallet signed in */
  authTime: number
  /** the chain on which the wallet signed in */
  chainId: number
  /** the session of the code; the client is notified when that session ends (OpenID Connect Back-Channel Logout §2.3) */
  sessionHash: string | null
  /** for a contract wallet: the receipt of the session's sign-in, unless that is `receiptId` */
  sessionReceiptId: string | null
  /** the wallet's epoch when the code was issued */
  epoch: number
  /** null if no scope of the grant has a limit */
  signedLimit: SignedLimit | null
  /** null if nothing was drawn */
  drawn: Drawn | null
  /** access tokens that were revoked one by one: from `jti` to the time until which the revocation is remembered */
  revokedTokens: Record<string, number>
}

/** `signature`: the wallet signed. `vouched`: the platform's login server authenticated the wallet. */
export type LoginMethod = 'signature' | 'vouched'

export type Session = {
  /** SHA-256 of the session id, base64url; only the browser has the id */
  hash: string
  wallet: Address
  chainId: number
  method: LoginMethod
  walletKind: WalletKind
  /** the receipt of the sign-in; null if the login server vouched for the wallet */
  receiptId: string | null
  /** the wallet's epoch at the start of the session */
  epoch: number
  /** when the wallet signed in */
  authTime: number
  lastSeenAt: number
  /** the absolute end of the session */
  expiresAt: number
  /** true if the login was requested on one device and finished on another; this session is on the second device */
  elsewhere: boolean
  /** the names of the browser and of its system at the sign-in, such as `Firefox/Windows`; one part or all of the text may be empty */
  browser: string
  endedAt: number | null
  /** the hash of the session that replaced this one: the same wallet signed in again in the same browser; otherwise null */
  replacedBy: string | null
}

/** A stored text that a wallet signed: the client, the scopes and the end of the consent. */
export type Receipt = {
  /** a UUID that is derived from the `Nonce` of the text; the older texts contain it as `Request ID` */
  id: string
  wallet: Address
  walletKind: WalletKind
  chainId: number
  /** empty for a sign-in to the account page, which is no consent to an app */
  clientId: string
  redirectUri: string
  scopes: string[]
  resources: string[]
  issuedAt: number
  /** the end of the consent */
  expiresAt: number
  withdrawnAt: number | null
  /** when the signature was last checked; checked again only for contract wallets, whose owners can change */
  checkedAt: number
  /** the signed text and the signature (`../consent/receipt.ts`) */
  sealed: Uint8Array
}
