/** Why the feed cannot be used at the moment. Tokens are introspected meanwhile. */

export const feedProblems = {
  unreachable: 'The authorization server does not respond, or ends every connection.',
  refused: 'The authorization server refuses the connection: the credentials, or the number of connections.',
  not_offered: 'The metadata of the authorization server have no endings_endpoint.',
  message_refused: 'A message is forged, malformed, too long, of another issuer, or for another resource.',
  message_missing: 'A message is missing, old, or of another run of the feed. The reader reads a snapshot.',
  clock_set: 'A clock was set. The reader connects again.',
  too_large: 'The list of endings is larger than a reader accepts.',
} as const

export type FeedProblemKind = keyof typeof feedProblems

/** For the API's log. No member contains a token, a secret or an entry. */
export interface FeedProblem {
  kind: FeedProblemKind
  /** One sentence, fixed for each kind. */
  description: string
  /** What exactly was wrong, such as `status 401` or `claim aud`. */
  detail: string
}

/** The reader closes the connection. */
export class FeedFault extends Error {
  override readonly name = 'FeedFault'
  readonly problem: FeedProblem
  /** Seconds until the next attempt, if the server named a time. */
  readonly retryAfter: number

  constructor(kind: FeedProblemKind, detail: string, { retryAfter = 0, cause }: { retryAfter?: number; cause?: unknown } = {}) {
    super(`${kind}: ${detail}`, cause === undefined ? undefined : { cause })
    this.problem = { kind, description: feedProblems[kind], detail }
    this.retryAfter = retryAfter
  }
}
