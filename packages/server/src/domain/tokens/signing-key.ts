import { SIGNING_ALGORITHMS, type SigningAlgorithm, type SigningKey } from '../../protocol/keys/signing-key.ts'
import { signingUnavailable } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'

/**
 * The key that signs with an algorithm now, for an ID token or another JWT for a client.
 *
 * Throws while the first key with the algorithm is announced: clients that cache the key set do not have the key yet. This state lasts
 * one minute, for example when a new version has one more algorithm.
 */
export function signingKeyOf({ keys }: Pick<Deps, 'keys'>, algorithm: SigningAlgorithm): SigningKey {
  const key = keys.signer(algorithm)
  if (!key) throw signingUnavailable('signing_key_announced')
  return key
}

/** The algorithms in the metadata. An algorithm is missing while the first key is announced: clients may have cached the key set without it. */
export function publishedAlgorithms({ keys }: Pick<Deps, 'keys'>): SigningAlgorithm[] {
  return SIGNING_ALGORITHMS.filter((algorithm) => keys.signer(algorithm) !== undefined)
}
