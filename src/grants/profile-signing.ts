/**
 * What is signed for a client under the FAPI 2.0 Security Profile is signed with ES256 or EdDSA (§5.4.1: "shall use PS256,
 * ES256, or EdDSA"). Access tokens are signed with one algorithm for everybody, so where that is RS256 the profile cannot be had:
 * no client is registered for it, and `serve` does not start. What is left, a setting that changes while clients are there, is
 * answered 503 until the next key signs, so that nobody loses a grant by it.
 */
import type { SigningAlgorithm } from '../keys/signing-key.ts'
import { signingUnavailable } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'
import type { KeyBook } from './ports.ts'

/** Throws where an access token for this client would be signed as its profile forbids. */
export function requireSigningOfProfile({ keys }: Pick<Deps, 'keys'>, client: Client): void {
  if (isForbidden(client, keys.maker('sign').algorithm)) throw signingUnavailable('signing_algorithm_not_of_the_profile')
}

/** One clear line for a client that cannot be registered where the service signs with this algorithm; null: not yet known. */
export function signingFaults(client: Client, algorithm: SigningAlgorithm | null): string[] {
  return isForbidden(client, algorithm)
    ? ['Access tokens are signed with RS256 here, which profile fapi2 does not allow: set GRANTOR_SIGNING_ALG to ES256 or EdDSA.']
    : []
}

/** What the youngest key signs access tokens with, or will once it starts; null where no service has run yet. */
export async function signingAlgorithmOf(book: Pick<KeyBook, 'listKeys'>): Promise<SigningAlgorithm | null> {
  const [youngest] = (await book.listKeys())
    .filter(({ kind, retiredAt }) => kind === 'sign' && retiredAt === null)
    .toSorted((a, b) => b.number - a.number)
  return (youngest?.algorithm as SigningAlgorithm | undefined) ?? null
}

/** The clients that stand in the way of signing with this algorithm. */
export function clientsAgainst(clients: readonly Client[], algorithm: SigningAlgorithm): Client[] {
  return clients.filter((client) => client.disabledAt === null && isForbidden(client, algorithm))
}

/** Whether there may be clients at all that stand in the way. */
export function breaksProfiles(algorithm: SigningAlgorithm | null): boolean {
  return algorithm === 'RS256'
}

function isForbidden({ profile }: Client, algorithm: SigningAlgorithm | null): boolean {
  return profile === 'fapi2' && breaksProfiles(algorithm)
}
