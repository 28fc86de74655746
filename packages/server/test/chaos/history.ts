/** The requests that clients sent and the responses that they got. Nothing here comes from inside the service. */

/** The tokens of one response, and the claims of the access token. */
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

export type RecordedResponse =
  | { kind: 'code'; code: string }
  /** the authorization request was redirected to the login page */
  | { kind: 'login' }
  | Tokens
  | { kind: 'active'; sub: string; clientId: string }
  | { kind: 'inactive' }
  | { kind: 'asked'; approval: string }
  /** `receipt`: the text, the signature, the address and the chain, as one text */
  | { kind: 'used'; approval: string; usedAt: number; address: string; receipt: string }
  /** `uses` and `amount`: what is left. `until`: the end of the period, in epoch seconds */
  | { kind: 'drawn'; draw: number; uses: number; amount: number; until: number }
  | { kind: 'returned'; draw: number }
  /** `already`: there was nothing to end, so this request changed nothing */
  | { kind: 'done'; already?: true }
  | { kind: 'refused'; error: string }
  /** no response, or 503: the request may have taken effect or not */
  | { kind: 'lost'; why: string }
  /** a defect: a response that no request of a run may get */
  | { kind: 'unexpected'; status: number; body: string }

/** What a wallet allows: uses a day, and the amounts of one use and of a day in the smallest step. */
export type Numbers = { uses: number; each: number; amount: number }

/** `session` is a name that the test gives. Tokens and codes are the received texts. */
export type RecordedRequest =
  /** `client` is the app of the request, for which the wallet signs a consent */
  | { op: 'sign_in'; wallet: string; session: string; client: string }
  | { op: 'authorize'; wallet: string; session: string; client: string }
  /** a sign-in of its own, in which the wallet signs a limit; the response has the code of its only grant */
  | { op: 'sign_limit'; wallet: string; client: string; limit: Numbers }
  | { op: 'redeem'; code: string }
  | { op: 'refresh'; token: string }
  | { op: 'introspect'; token: string }
  | { op: 'revoke'; token: string }
  /** an API asks the user of the token to sign an action. `key`: the API's name of the action, also in the summary that the wallet signs */
  | { op: 'ask'; token: string; key: string }
  /** the user opens the link of an approval, and signs or declines */
  | { op: 'sign'; approval: string }
  | { op: 'decline'; approval: string }
  | { op: 'use'; approval: string; attempt: string }
  /** an API draws from the limit of the token's grant. `key`: the API's name of the draw */
  | { op: 'draw'; token: string; key: string; amount: number }
  | { op: 'give_back'; grantId: string; key: string; amount: number }
  | { op: 'end_app'; wallet: string; client: string }
  | { op: 'sign_out'; wallet: string; session: string }
  /** ends every session except this one */
  | { op: 'end_others'; wallet: string; session: string }
  /** ends every grant, consent and session, by a signature */
  | { op: 'end_everything'; wallet: string }
  /** on the chain: a contract wallet was transferred to another owner */
  | { op: 'change_owner'; wallet: string }
  /** on the chain: in this time RPCs failed or lied */
  | { op: 'chain_broken' }
  /** a former owner of the wallet tries to sign in */
  | { op: 'sign_in_as_former'; wallet: string }

export type Entry = {
  node: string
  /** the client whose credentials the request has; '' for a browser; or the resource server */
  caller: string
  request: RecordedRequest
  response: RecordedResponse
  /** epoch milliseconds, of one monotonic clock */
  begin: number
  end: number
  /** of a request that got no response: when the service had certainly stopped processing it, if the client waited for that */
  settled?: number
  /** the error of the node's clock in seconds, at the beginning and at the end */
  offset: readonly [number, number]
}

export type Violation = {
  invariant: 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'defect'
  words: string
  /** the entries that show it, with the violating response last */
  entries: Entry[]
}

/** The caller with the credentials of the resource API, which may introspect every token. */
export const RESOURCE_SERVER = 'resource server'

/** The node of entries that happened on the chain and not on a node of the service. */
export const CHAIN = 'chain'

/** Epoch milliseconds, of one monotonic clock. */
export const now = (): number => performance.timeOrigin + performance.now()

/** Whether one request was complete before the other was sent. */
export function precedes(one: Entry, other: Entry): boolean {
  return one.end < other.begin
}
