/** The dependencies of the domain: store, keys, settings, clock, audit log and outbound calls. */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import type { ClaimsByResource } from '../../protocol/keys/platform-claims.ts'
import type { OAuthError } from '../../protocol/oauth/oauth-error.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import type { ContractClaim, ContractVerdict } from '../../protocol/wallet/contract-signature.ts'
import type { ApprovalKey } from './approval-store.ts'
import type { Audit } from './audit-events.ts'
import type { ClientKeyCheck, Clients } from './clients.ts'
import type { Client, Grant, Job, Receipt, Session } from './records.ts'
import type { RequestStore } from './request-store.ts'
import type { Resources } from './resources.ts'

/** Lifetimes in seconds. */
export type Lifetimes = {
  accessToken: number
  code: number
  /** an unused refresh token expires after this time */
  refreshIdle: number
  /** from the start of the login or the issuing of the code to the absolute end of the grant */
  grant: number
  /** the longest lifetime that any client may have: of an access token, of a refresh token without use, and of a grant */
  longest: { accessToken: number; refreshIdle: number; grant: number }
  refreshRetryWindow: number
  refreshRetryWindowPublic: number
  sessionIdle: number
  session: number
  /** how long the last successful check of a contract wallet counts while the chain cannot be reached */
  contractGrace: number
}

/** Seconds until a challenge expires. */
export const CHALLENGE_LIFETIME = 600

export type ServiceSettings = {
  /** the origin of the auth service: the issuer of every token and the base of every URL (RFC 8414 §2) */
  authUrl: string
  /** the origin of the login server; the authority of this URL is the `domain` of every text to sign */
  loginUrl: string
  defaultResource: string
  chainIds: number[]
  loginMayVouch: boolean
  /** true if a wallet on another device can sign in the browser that shows a code */
  crossDevice: boolean
  /** true if client ids may be URLs of metadata documents */
  clientMetadata: boolean
  /** null if clients cannot register themselves; `schemes` without a dot are allowed in addition, `token` is required if it is set */
  dynamicRegistration: { schemes: readonly string[]; token: string | undefined } | null
  /** true if DPoP proofs must contain a nonce of the service (RFC 9449 §8) */
  dpopNonce: boolean
  /** what a scope allows an app to do, described for users */
  scopeDescriptions: Record<string, string>
  lifetimes: Lifetimes
}

/** Contract wallets (ERC-1271). They are accepted on one chain only: on another chain the same address can have another owner. */
export type ContractWallets = {
  homeChainId: number
  /** Calls the chain. `network` is the network of the caller that causes the calls; null if no caller is known, as at a refresh. */
  check(claim: ContractClaim & { network: string | null }): Promise<ContractVerdict>
  /** Whether the key of an account counts, or was switched off; null if the operator did not switch this check on. */
  checkOwnKey: ((account: { address: Address; network: string | null }) => Promise<ContractVerdict>) | null
}

/**
 * Counts a code before it is issued, because the redemption of each code is a row that is kept for a day after its end. `retryAfter`:
 * seconds until the wallet, or its network, may have another code.
 */
export type AdmitCode = (wallet: Address) => { allowed: true } | { allowed: false; retryAfter: number }

/** A request to a URL that a client chose: a POST with the form, or a GET without one. */
export type ClientCall = { url: string; form?: Record<string, string> }
/** `why` is for the log and contains nothing of the response. */
export type ClientAnswer =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string | undefined>>; body: string }
  | { kind: 'unavailable'; why: string }
/** Calls a `jwks_uri`, a `backchannel_logout_uri` or the URL of a metadata document, and no other URL. Does not throw. */
export type FetchFromClient = (call: ClientCall) => Promise<ClientAnswer>

/** A public name that an account has, and the URL of its picture, which the owner of the name chose. */
export type AccountName = { name: string; avatar: string | null }
export type NameAnswer = ({ kind: 'name' } & AccountName) | { kind: 'none' } | { kind: 'unavailable'; why: string }
export type AccountPicture = { type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'; bytes: Buffer }

/** An account that has signed in: a session or a grant. */
export type SignedInAccount = Pick<Session, 'wallet' | 'walletKind' | 'receiptId' | 'chainId'>

/** The public names of accounts. The methods wait for other servers for 300 milliseconds at most, and do not throw. */
export type AccountNames = {
  /** False if the name of the address may belong to another owner than the account. */
  mayHaveName(account: SignedInAccount): boolean
  /** Begins to look the name up, so that a later request finds it. */
  prepare(account: SignedInAccount): void
  /** Null if the account has no name, or if the name is not known yet. */
  find(account: SignedInAccount): Promise<string | null>
  /** The picture of the name of an account that may have one. */
  findPicture(wallet: Address): Promise<AccountPicture | null>
}

/** What is about to be issued if the hook of the operator allows it. */
export const HOOK_OCCASIONS = ['code', 'device', 'refresh'] as const
export type HookOccasion = (typeof HOOK_OCCASIONS)[number]

/** May this wallet have these scopes at this client? */
export type HookQuestion = {
  occasion: HookOccasion
  client: Pick<Client, 'id' | 'name'>
  account: Pick<Session, 'wallet' | 'walletKind' | 'chainId' | 'authTime'>
  scopes: readonly string[]
  resources: readonly string[]
  /** at a refresh: the grant, and the token that is presented; the token is null if the client keeps its refresh token */
  grant?: { id: string; generation: number | null }
}

/** What the hook allows in the next access tokens: scopes in the order of the question, null for all; claims of the platform, null for none. */
export type AllowedByHook = { scopes: string[] | null; claims: ClaimsByResource | null }

/** Without a hook, and for clients for which the hook is not called. */
export const ALLOWED_AS_ASKED: AllowedByHook = { scopes: null, claims: null }

/** `failed`: the hook gave no usable answer. */
export type HookPermission = ({ kind: 'allowed' } & AllowedByHook) | { kind: 'refused' } | { kind: 'failed'; error: OAuthError }

/** The hook of the operator, which decides beside the rules of the service. Does not throw. */
export type Hook = { ask(question: HookQuestion): Promise<HookPermission> }

/** Requests that wait for the answers of users to approvals (`domain/approvals/waits.ts`). */
export type ApprovalWaits = {
  /** Resolves when the approval has an answer, or with `isOver`; at once if too many requests wait. */
  wait(key: ApprovalKey, isOver: Promise<unknown>): Promise<void>
  /** Ends the waits for an approval that was answered. */
  wake(key: ApprovalKey): void
  /** Ends all waits, and every later one. */
  close(): void
}

/** A client that had an unended grant from a session when that session ended. */
export type RelyingClient = { clientId: string; sessionHash: string }
export type EndedSessions = { wallet: Address; clients: RelyingClient[] }

export type Deps = {
  store: RequestStore
  clients: Clients
  resources: Resources
  keys: KeyRing
  clientKeys: ClientKeyCheck
  settings: ServiceSettings
  /** null if no chain is configured: then only ordinary wallets can sign in */
  contractWallets: ContractWallets | null
  /** null if accounts are shown by their addresses only */
  accountNames: AccountNames | null
  /** null if the operator has no hook */
  hook: Hook | null
  /** epoch seconds */
  now: () => number
  /** Notes a poll of a device (RFC 8628 §3.5). True if this process received its previous poll less than `interval` seconds ago. */
  devicePolls: { isTooSoon(requestId: string, interval: number): boolean }
  approvalWaits: ApprovalWaits
  /** Registers a new grant, session or receipt for the next check of the bounds on one wallet (`bounds.ts`). */
  bounds: { noteGrant(grant: Grant): void; noteSession(session: Session): void; noteReceipt(receipt: Receipt): void }
  /** Counts sign-ins and active wallets (`domain/activity`). */
  activity: { noteSignIn(wallet: Address): void; noteTokens(wallet: Address): void }
  /**
   * Counts one client assertion or DPoP proof, which is stored until it expires. Throws if clients that no operator registered have sent too
   * many from this network.
   */
  countUse(clientId: string, network: string): void
  /** What remains of the ending of a wallet with very many grants (`operators/jobs.ts`). */
  endings: {
    /** Stores that these grants are to end, and returns the job. Null if too many endings are under way. */
    add(
      ending: NonNullable<Job['ofWallet']> & Pick<Job, 'clientId' | 'startedBy' | 'grantsEnded'>,
      at: number,
    ): Promise<Job | null>
    read(id: string): Promise<Job | null>
  }
  /** Queues the notices of OpenID Connect Back-Channel Logout, which are sent later. */
  announceEnded(ended: EndedSessions): void
  audit: Audit
}
