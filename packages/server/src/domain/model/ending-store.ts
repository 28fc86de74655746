/** The endings: what makes access tokens invalid before their `exp`. */
import { createHash } from 'node:crypto'
import { hasTokensWithoutUser } from '../../protocol/oauth/grant-types.ts'
import type { Client } from './records.ts'

/**
 * `at`: when it happened, in epoch seconds. No token that the ending concerns is issued later than a minute after this time.
 * `resources` of a token without a grant are absent if the store does not have them.
 */
export type Ending =
  /** The grant ended, and with it all its access tokens. */
  | { kind: 'grant'; grantId: string; clientId: string; resources: string[]; at: number }
  /** One access token of a grant was revoked. `clientId` and `resources` are those of the grant. */
  | { kind: 'token'; jti: string; clientId: string; resources: string[]; at: number }
  /** A token without a grant was revoked; `hash` is `hashOfUse` of the client id and the `jti`. */
  | { kind: 'client_token'; hash: string; clientId: string; resources?: string[]; at: number }
  /** The client was disabled, deleted or changed as `endsTokens` says; `hash` is `hashOfClient`. */
  | { kind: 'client'; hash: string; at: number }

/** The end of a read. Only the store that returned the place reads the place. */
export type EndingPlace = { readonly instance: string }

export type EndingsRead = {
  endings: Ending[]
  /** the place for the next read */
  place: EndingPlace
  /** true if more endings can be read at once, from `place` on */
  hasMore: boolean
}

export interface EndingStore {
  /**
   * Reads the endings that were committed after `place`; null for all endings whose time is at most `within` seconds before `at`. An ending
   * may be returned more than once, and older endings may be returned too. `limit` is the number of rows of each
   * table that are read for a page, so that a page has about as many endings.
   *
   * No ending is skipped: every ending that was acknowledged before the first call of a read, whose pages end with `hasMore: false`, is
   * returned by this read or by an earlier one, however late its transaction was committed.
   *
   * `place.instance` changes if the server was started again or another server took over, because a server that was behind may have lost
   * endings that this node has read. The caller then starts again without a place.
   */
  readEndings(place: EndingPlace | null, of: { within: number; limit: number; at: number }): Promise<EndingsRead>
}

/** The longest lifetime of an access token, in seconds. The revocation of a token without a grant is stored for as long. */
export const TOKEN_LIFETIME_AT_MOST = 86_400

/** The hash under which the ending of a client is stored. */
export function hashOfClient(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url')
}

/**
 * Whether readers of the feed must introspect the tokens of the client after a change: it is disabled, or may no longer have tokens of its own,
 * or may no longer exchange tokens for a resource. After the latter, a node that starts does not know which readers the exchanged tokens concern.
 */
export function endsTokens(before: Client, after: Client): boolean {
  return (
    (before.disabledAt === null && after.disabledAt !== null) ||
    (hasTokensWithoutUser(before.grantTypes) && !hasTokensWithoutUser(after.grantTypes)) ||
    hasFewerExchanges(before, after)
  )
}

function hasFewerExchanges(before: Client, after: Client): boolean {
  const isOfAnother = before.resourceServer !== after.resourceServer
  return (
    before.resourceServer !== null &&
    before.exchangeResources.some((uri) => isOfAnother || !after.exchangeResources.includes(uri))
  )
}
