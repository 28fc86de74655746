/** What clients sent and what they were told: nothing here is known from inside the service. */

/** The tokens of one answer, and what the access token says of itself. */
export type Tokens = {
  kind: 'tokens'
  access: string
  refresh: string
  sub: string
  clientId: string
  grantId: string
  /** epoch seconds */
  expiresAt: number
}

export type Told =
  | { kind: 'code'; code: string }
  /** the authorize request led to the login page: there is no session */
  | { kind: 'login' }
  | Tokens
  | { kind: 'active'; sub: string; clientId: string }
  | { kind: 'inactive' }
  /** `already`: there was nothing left to do, so this request did nothing */
  | { kind: 'done'; already?: true }
  | { kind: 'refused'; error: string }
  /** no answer, or 503: it may have been done or not */
  | { kind: 'lost'; why: string }
  /** a defect: an answer that no request here may get */
  | { kind: 'unexpected'; status: number; body: string }

/** `session` is the test's own name for one; tokens and codes are texts as they were told. */
export type Asked =
  /** `client` is the app that asked, for which the wallet signs its consent */
  | { op: 'sign_in'; wallet: string; session: string; client: string }
  | { op: 'authorize'; wallet: string; session: string; client: string }
  | { op: 'redeem'; code: string }
  | { op: 'refresh'; token: string }
  | { op: 'introspect'; token: string }
  | { op: 'revoke'; token: string }
  | { op: 'end_app'; wallet: string; client: string }
  | { op: 'sign_out'; wallet: string; session: string }
  /** every session but this one */
  | { op: 'end_others'; wallet: string; session: string }
  /** by a signature of its own: every grant, consent and session */
  | { op: 'end_everything'; wallet: string }
  /** what happened on the chain of contract wallets: one has another owner now */
  | { op: 'change_owner'; wallet: string }
  /** and while this lasted it could not be asked, or did not say the truth */
  | { op: 'chain_broken' }
  /** who owned the wallet before it changed hands wants to sign in */
  | { op: 'sign_in_as_former'; wallet: string }

export type Entry = {
  node: string
  /** the client that asked, by its credentials; '' for a browser; or the resource server */
  caller: string
  asked: Asked
  told: Told
  /** epoch milliseconds, of one monotonic clock */
  begin: number
  end: number
  /** by how many seconds the node's clock was wrong at the beginning and at the end */
  offset: readonly [number, number]
}

/** Whoever asks with the credentials of the resource API, and so may introspect every token. */
export const RESOURCE_SERVER = 'resource server'

/** Where owners change: no node of the service. */
export const CHAIN = 'chain'

/** Epoch milliseconds, of one monotonic clock. */
export const now = (): number => performance.timeOrigin + performance.now()

/** One request was over before the other was sent. */
export function precedes(one: Entry, other: Entry): boolean {
  return one.end < other.begin
}
