/** The records of the ledger: who may ask (client), who agreed (wallet, session), and to what (grant). */
import type { JwkSet } from '../keys/public-jwk.ts'
import type { SigningAlgorithm } from '../keys/signing-key.ts'
import type { ResponseMode } from '../oauth/response-mode.ts'
import type { Address } from '../wallet/address.ts'

export type GrantType = 'authorization_code' | 'refresh_token' | 'client_credentials'
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none'

/** `fapi2`: the FAPI 2.0 Security Profile, which tightens every rule it speaks of. */
export type ClientProfile = 'default' | 'fapi2'

/** RFC 6749 §2.1 knows confidential and public clients; `native` is a public client on a person's own device (RFC 8252). */
export type ClientType = 'confidential' | 'public' | 'native'

/** `session`: a valid session is consent enough. `signed`: the person is asked every time the client is not covered yet. */
export type ConsentRule = 'session' | 'signed'

/** A client secret as it is kept: a SHA-256 of 256 random bits. During a rotation two are valid, the older with an end. */
export type ClientSecret = {
  secretHash: string
  expiresAt: number | null
  /** absent where it was made before this was kept */
  createdAt?: number
}

/** A registered client (RFC 6749 §2). */
export type Client = {
  /** a UUID */
  id: string
  name: string
  type: ClientType
  redirectUris: string[]
  scopes: string[]
  /** granted when a request names none (RFC 6749 §3.3) */
  defaultScopes: string[]
  /** resources it may ask tokens for, beside the default one (RFC 8707) */
  resources: string[]
  /** the resource this client is the server of: it may introspect every token with that audience (RFC 7662 §2.1) */
  resourceServer: string | null
  consent: ConsentRule
  requirePkce: boolean
  authMethod: ClientAuthMethod
  grantTypes: GrantType[]
  profile: ClientProfile
  /** its public keys (RFC 7591 §2), where it registered them; never both these and `jwksUri` */
  jwks: JwkSet | null
  /** where its public keys are read */
  jwksUri: string | null
  /** RFC 9126 §6 */
  requirePushedRequests: boolean
  /** whether its requests come as signed request objects only (RFC 9101 §10.5) */
  requestObjectSigned: boolean
  /** whether its tokens are always bound to a DPoP key (RFC 9449 §5.2) */
  dpopBound: boolean
  idTokenAlgorithm: SigningAlgorithm
  /** what introspection answers to it are signed with where it asks for signed ones; null for the service's own choice (RFC 9701 §6) */
  introspectionSigned: SigningAlgorithm | null
  /** what authorization responses to it are signed with in a signed response mode (JARM §3) */
  authorizationAlgorithm: SigningAlgorithm
  /** the response modes it may use; null for all (FAPI 2.0 Message Signing §5.3.3) */
  responseModes: ResponseMode[] | null
  /** OpenID Connect RP-Initiated Logout §3.1 */
  postLogoutRedirectUris: string[]
  /** OpenID Connect Back-Channel Logout §2.2 */
  backchannelLogoutUri: string | null
  backchannelLogoutSessionRequired: boolean
  /** empty for a client without one: a public one, or one that signs with its own key */
  secrets: ClientSecret[]
  createdAt: number
  disabledAt: number | null
}

/** Why a grant ended, for the audit log and `grants list`, never for a client. docs/errors.md is made from this table. */
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
  user: 'The user ended the app or everything on the account page.',
  consent_missing: 'The consent was withdrawn, or the client now needs a signed one.',
  wallet_changed: 'The contract wallet has other owners now.',
  restored: 'The database was restored from a backup, and the operator ended what was uncertain.',
  superseded: 'The wallet has newer grants than it may have at one client.',
} as const
export type EndReason = keyof typeof endReasons

/** Whose key signs: the address's own, or the owners' of a contract at the address (ERC-1271). */
export type WalletKind = 'ordinary' | 'contract'

/** One grant: who allowed what to whom, and where its refresh chain stands. Tokens themselves have no rows. */
export type Grant = {
  /** a UUID, chosen when the code was issued */
  id: string
  clientId: string
  wallet: Address
  walletKind: WalletKind
  /** the signed text this grant rests on; null where the wallet was only vouched for */
  receiptId: string | null
  /** whether that text is the consent to this very grant, rather than the sign-in its session came from */
  consented: boolean
  scopes: string[]
  resources: string[]
  createdAt: number
  /** the absolute end */
  expiresAt: number
  /** the refresh chain ends earlier when it lies idle */
  refreshExpiresAt: number
  /** of the one living refresh token; the first has 0 */
  generation: number
  /** the key the living refresh token is derived with */
  refreshKeyId: string
  /** when the living refresh token was made */
  rotatedAt: number
  endedAt: number | null
  endReason: EndReason | null
  /** RFC 7638 thumbprint of the key that the refresh token of a public client is bound to (RFC 9449 §5) */
  dpopJkt: string | null
  /** when the wallet was proved; null, like the next two, for a grant of before OpenID Connect */
  authTime: number | null
  /** the chain the wallet signed in on */
  chainId: number | null
  /** the session it came from: whose client hears when that session ends (OpenID Connect Back-Channel Logout §2.3) */
  sessionHash: string | null
  /** the signed text that the session of a contract wallet began with, if that is another one than `receiptId` */
  sessionReceiptId: string | null
  /** access tokens revoked alone: `jti` → `exp` */
  revokedTokens: Record<string, number>
}

/** How a session's wallet was proved: by the wallet's own signature, or by the word of the platform's login server. */
export type LoginMethod = 'signature' | 'vouched'

export type Session = {
  /** SHA-256 of the session id, base64url; the id itself is only in the browser */
  hash: string
  wallet: Address
  chainId: number
  method: LoginMethod
  walletKind: WalletKind
  /** the signed text it began with; null where only vouched for */
  receiptId: string | null
  /** of the wallet when it began */
  epoch: number
  /** when the wallet was proved */
  authTime: number
  lastSeenAt: number
  /** the absolute end */
  expiresAt: number
  /** it began on another device than the one that asked for the login */
  elsewhere: boolean
  endedAt: number | null
  /** hash of the session that the same wallet started in its place in the same browser; null unless it ended that way */
  replacedBy: string | null
}

/** A text that a wallet signed, as it is kept: what was agreed to, to whom, until when. */
export type Receipt = {
  /** the text's `Request ID`, a UUID */
  id: string
  wallet: Address
  walletKind: WalletKind
  chainId: number
  /** empty where the wallet signed in to its account page, which allows no app anything */
  clientId: string
  redirectUri: string
  scopes: string[]
  resources: string[]
  issuedAt: number
  /** the end of what was agreed */
  expiresAt: number
  withdrawnAt: number | null
  /** when the signature was last found to hold; moves on only for contract wallets, whose owners can change */
  checkedAt: number
  /** `{ message, signature }`, sealed */
  sealed: string
}
