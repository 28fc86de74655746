/** Signed messages of the feed of endings. docs/reference/feed.md defines the claims. */
import type { KeyRing } from './key-ring.ts'
import { signJwt } from './signed-jwt.ts'

/** From a time in epoch seconds to entries of 16 bytes, as base64url. */
export type EntriesByTime = Record<string, string>

/**
 * `iat` is in epoch seconds; `at`, `from` and `until` are in milliseconds; `lifetime` is in seconds. `snapshot` names the snapshot of which the
 * message is a part.
 */
export type EndingsClaims = {
  iss: string
  aud: string
  iat: number
  at: number
  nonce?: string
  feed: string
  from: number | null
  until: number
  lifetime: number
  part?: [number, number]
  snapshot?: string
  keys: string[]
  ended?: EntriesByTime
  clients?: EntriesByTime
}

export function signEndings(ring: KeyRing, claims: EndingsClaims): string {
  return signJwt(ring.maker('sign'), 'endings+jwt', claims)
}
