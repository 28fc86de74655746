import type { SigningKey } from '../keys/key-ring.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../keys/signing-key.ts'
import { signingUnavailable } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'

/**
 * The key that signs in an algorithm now, for an ID token or another statement to a client.
 *
 * Throws while the first key in the algorithm is announced: clients that keep a copy of the key set do not have the key yet. Only
 * a store that an earlier version has used is ever in this state, for a minute.
 */
export function signingKeyOf({ keys }: Pick<Deps, 'keys'>, algorithm: SigningAlgorithm): SigningKey {
  const key = keys.signer(algorithm)
  if (!key) throw signingUnavailable('signing_key_announced')
  return key
}

/** What the metadata name: not an algorithm whose first key is announced, because clients may have a copy of the key set without it. */
export function publishedAlgorithms({ keys }: Pick<Deps, 'keys'>): SigningAlgorithm[] {
  return SIGNING_ALGORITHMS.filter((algorithm) => keys.signer(algorithm) !== undefined)
}
