/** The world, passed in. */
import type { KeyKind, KeyRing } from '../keys/key-ring.ts'
import type { Reason } from '../oauth/reasons.ts'
import type { Address } from '../wallet/address.ts'
import type { ContractClaim, ContractVerdict } from '../wallet/contract-signature.ts'
import type { ClientDirectory } from './client-directory.ts'
import type { ClientKeys } from './client-keys.ts'
import type { EndReason, Grant, LoginMethod, Session } from './model.ts'
import type { RevokeTokenOutcome, SpendOutcome, Store } from './ports.ts'

/** Lifetimes in seconds. */
export type Lifetimes = {
  accessToken: number
  code: number
  /** between two refreshes, at most */
  refreshIdle: number
  /** of a grant, from its code on */
  grant: number
  refreshRetryWindow: number
  refreshRetryWindowPublic: number
  sessionIdle: number
  session: number
  /** how long a contract wallet's last good check is believed while its chain cannot be asked */
  contractGrace: number
}

export type ServiceSettings = {
  /** the auth service's origin: issuer of every token, base of every URL (RFC 8414 §2) */
  authUrl: string
  /** the login server's origin, whose authority is the `domain` of every text that is signed */
  loginUrl: string
  defaultResource: string
  chainIds: number[]
  loginMayVouch: boolean
  /** whether DPoP proofs must hold a nonce of ours (RFC 9449 §8) */
  dpopNonce: boolean
  /** what a scope lets an app do, in the user's words */
  scopeDescriptions: Record<string, string>
  lifetimes: Lifetimes
}

/** One line of the audit log. A call to a client's address can fail in ways that only `outbound` lists. */
export type AuditEvent = AuditedObjects &
  ({ event: string; reason?: AuditReason } | { event: 'logout_notice_delivered' | 'logout_notice_lost'; reason?: string })

/** Why something was refused or ended, or how a thing was done; the client never reads it. */
type AuditReason = Reason | EndReason | LoginMethod | KeyKind | RevokeTokenOutcome | SpendOutcome

type AuditedObjects = {
  client_id?: string
  grant_id?: string
  key_id?: string
  /** shortened */
  wallet?: string
  request_id?: string
  /** set if an operator must be alerted */
  alarm?: true
}

/** Events that cannot be undone. Their lines are in the log before the answer is sent, even if the process is killed right after it. */
export const LASTING_EVENTS: ReadonlySet<string> = new Set([
  'grant_ended',
  'app_ended',
  'everything_ended',
  'session_ended',
  'other_sessions_ended',
  'access_token_revoked',
  'client_token_revoked',
  'key_made',
  'key_retired',
])

/** Contract wallets (ERC-1271), accepted on one chain, because elsewhere the same address can have another owner. */
export type ContractWallets = {
  homeChainId: number
  /** Calls the chain. `network` is the network of the caller that causes the calls; null for none, as at a refresh. */
  check(claim: ContractClaim & { network: string | null }): Promise<ContractVerdict>
}

/** A call to an address that a client registered. Without a form it is a GET. */
export type ClientCall = { url: string; form?: Record<string, string> }
/** `why` is for the log and repeats nothing of what was answered. */
export type ClientAnswer = { kind: 'answered'; status: number; body: string } | { kind: 'unavailable'; why: string }
/** Calls a `jwks_uri` or a `backchannel_logout_uri`, and nothing else ever. Does not throw. */
export type FetchFromClient = (call: ClientCall) => Promise<ClientAnswer>

/** A client with a grant from a session that has just ended. The grant had not ended before. */
export type RelyingClient = { clientId: string; sessionHash: string }
export type EndedSessions = { wallet: Address; clients: RelyingClient[] }

export type Deps = {
  store: Store
  clients: ClientDirectory
  keys: KeyRing
  clientKeys: ClientKeys
  fetchFromClient: FetchFromClient
  settings: ServiceSettings
  /** null where no chain is configured: then only ordinary wallets sign in */
  contractWallets: ContractWallets | null
  /** epoch seconds */
  now: () => number
  /** Notes what was made, so that the oldest end soon if there are too many (`bounds.ts`). */
  bounds: { noteGrant(grant: Grant): void; noteSession(session: Session): void }
  /** Tells the clients that want to know (OpenID Connect Back-Channel Logout), in its own time. */
  announceEnded(ended: EndedSessions): void
  audit: (event: AuditEvent) => void
}
