/**
 * For a client with the FAPI 2.0 Security Profile, everything is signed with ES256 or EdDSA (§5.4.1: "shall use PS256, ES256, or
 * EdDSA"). One algorithm signs the access tokens of all clients. If that is RS256, no client can be registered with the profile, and
 * `serve` does not start if such a client exists. If the setting changes later, requests of such clients get 503 until the next key
 * signs. They get an error before anything is used, so no client loses a grant.
 */

import type { KeyRecord } from '../../protocol/keys/key-ring.ts'
import type { SigningAlgorithm } from '../../protocol/keys/signing-key.ts'
import { signingUnavailable } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import type { ClientFault } from './client-faults.ts'

/** Throws if the key that signs access tokens has an algorithm that the client's profile forbids. */
export function requireSigningOfProfile({ keys }: Pick<Deps, 'keys'>, client: Client): void {
  if (isForbidden(client, keys.maker('sign').algorithm)) throw signingUnavailable('signing_algorithm_not_of_the_profile')
}

/** One line for each reason why the keys of this store cannot sign for the client. Empty if no service has run on the store yet. */
export function signingFaults(client: Client, records: readonly KeyRecord[], at: number): ClientFault[] {
  const keys = records.filter(({ retiredAt }) => retiredAt === null).toSorted((a, b) => b.number - a.number)
  const usual = keys.filter(({ kind }) => kind === 'sign')
  // The newest key signs access tokens, now or when its announcement ends.
  const faults: ClientFault[] = isForbidden(client, usual[0]?.algorithm)
    ? [
        {
          member: 'profile',
          words:
            'Access tokens are signed with RS256 here, which profile fapi2 does not allow: set GRANTOR_SIGNING_ALG to ES256 or EdDSA.',
        },
      ]
    : []
  if (usual.length === 0) return faults
  const members = ['idTokenAlgorithm', 'authorizationAlgorithm', 'introspectionSigned'] as const
  for (const [index, member] of members.entries()) {
    const algorithm = client[member]
    const isNamedBefore = members.slice(0, index).some((earlier) => client[earlier] === algorithm)
    const signers = keys.filter((key) => key.algorithm === algorithm)
    if (algorithm === null || isNamedBefore || signers.some(({ startsAt }) => startsAt <= at)) continue
    const wait = Math.min(...signers.map(({ startsAt }) => startsAt)) - at
    faults.push({ member, words: notPublishedYet(algorithm, wait) })
  }
  return faults
}

/** `wait`: seconds until the first key with the algorithm signs; `Infinity` if no such key exists. RFC 7591 §3.2.2 */
function notPublishedYet(algorithm: SigningAlgorithm, wait: number): string {
  const what = `invalid_client_metadata: the ${algorithm} key`
  return Number.isFinite(wait)
    ? `${what} has not been published for 60 seconds yet, so clients may not have it: try again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
    : `${what} has not been published yet: start grantor serve of this version, and try again a minute later.`
}

/** The enabled clients whose profile forbids this algorithm. */
export function clientsAgainst(clients: readonly Client[], algorithm: SigningAlgorithm): Client[] {
  return clients.filter((client) => client.disabledAt === null && isForbidden(client, algorithm))
}

/** Whether the profile of any client can forbid this algorithm. */
export function breaksProfiles(algorithm: KeyRecord['algorithm'] | undefined): boolean {
  return algorithm === 'RS256'
}

function isForbidden({ profile }: Client, algorithm: KeyRecord['algorithm'] | undefined): boolean {
  return profile === 'fapi2' && breaksProfiles(algorithm)
}
