/**
 * Checks what APIs with the feed of endings did with tokens, from records of the APIs and of those who ended the tokens. Every time is in epoch
 * milliseconds of one machine.
 */

/** `acknowledged`: when the response arrived; null if none did, so that the token may have ended or not. */
export type Ending = { begun: number; acknowledged: number | null }

/** `endings`: everything that ended this token, in any order. `expiresAt` is the `exp` of the token. */
export type WatchedToken = { id: string; expiresAt: number; endings: Ending[] }

/** All checks of one token by one API. */
export type Sighting = {
  api: string
  token: string
  /** the number of checks */
  checks: number
  /** when the latest check began that accepted the token without introspection */
  acceptedByFeed: number | null
  /** when the latest check began that accepted the token after introspection */
  acceptedByIntrospection: number | null
  /** the greatest age of the feed, at least, at the beginning of a check that accepted the token without introspection */
  oldestFeed: number
  /** the check that ended first of those that refused the token: when it ended, and the reason */
  refused: { at: number; reason: string } | null
}

export type FeedViolation = {
  rule: 'an ended token was accepted' | 'a token was accepted on an old feed' | 'a valid token was refused'
  words: string
}

/** Milliseconds before `exp`. Clocks of nodes and APIs have whole seconds, so a token may be refused this much earlier. */
const NEAR_EXPIRY = 2000

/** `maxAge`: the greatest age of the feed that the API accepts, in milliseconds. */
export function checkFeed(
  tokens: readonly WatchedToken[],
  sightings: readonly Sighting[],
  maxAge: (api: string) => number,
): FeedViolation[] {
  const tokenOf = new Map(tokens.map((token) => [token.id, token]))
  return sightings.flatMap((sighting) => {
    const token = tokenOf.get(sighting.token)
    if (!token) throw new Error(`nothing is known of the token ${sighting.token}`)
    return checkSighting(token, sighting, maxAge(sighting.api))
  })
}

function checkSighting(token: WatchedToken, sighting: Sighting, maxAge: number): FeedViolation[] {
  const { api, acceptedByFeed, acceptedByIntrospection, oldestFeed, refused } = sighting
  const ended = endOf(token)
  const late = { feed: (acceptedByFeed ?? 0) - ended, introspection: (acceptedByIntrospection ?? 0) - ended }
  const words = (text: string) => `${api}, token ${token.id}: ${text}`
  const found: FeedViolation[] = []
  const note = (rule: FeedViolation['rule'], text: string) => void found.push({ rule, words: words(text) })
  if (late.feed > maxAge) note('an ended token was accepted', `by the feed, ${late.feed.toFixed(0)} ms after its ending`)
  // Introspection reads the store, so not even a millisecond is allowed.
  if (late.introspection > 0)
    note('an ended token was accepted', `by introspection, ${late.introspection.toFixed(0)} ms after its ending`)
  if (oldestFeed > maxAge) note('a token was accepted on an old feed', `its age was ${oldestFeed.toFixed(0)} ms`)
  if (refused && refused.at < beginOfEnd(token)) note('a valid token was refused', refused.reason)
  return found
}

/** From this time on, no API may accept the token. */
function endOf({ endings }: WatchedToken): number {
  return Math.min(...endings.map(({ acknowledged }) => acknowledged ?? Number.POSITIVE_INFINITY))
}

/** Until this time, no API may refuse the token. */
function beginOfEnd({ endings, expiresAt }: WatchedToken): number {
  return Math.min(expiresAt - NEAR_EXPIRY, ...endings.map(({ begun }) => begun))
}
