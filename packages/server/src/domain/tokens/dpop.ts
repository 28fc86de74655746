/**
 * DPoP at the endpoints of the service (RFC 9449; RFC 9700 §2.2.1): reads the proof of a request, and accepts each proof once.
 *
 * A proof is spent after all other checks of the request and before any change. So a captured proof that is sent again changes
 * nothing, and the proof of a refused request stays unused.
 */
import { randomUUID } from 'node:crypto'
import { type DpopProof as CheckedProof, checkDpopProof } from '@grantor/protocol/dpop-proof'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import { dpopNonceEndsAt, makeDpopNonce } from '../../protocol/keys/dpop-nonce.ts'
import type { TokenScheme } from '../../protocol/oauth/bearer-token.ts'
import { invalidDpopProof, invalidGrant, invalidToken, wantsDpopNonce } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'

/** A checked proof, and the network of its sender; null if no network is counted. */
export type DpopProof = CheckedProof & { network: string | null }

/** The `DPoP` header fields of a request, unparsed, with the method and the path of the endpoint and the network of the sender. */
export type PresentedProof = {
  proofs: readonly string[]
  method: string
  path: string
  network: string | null
  /** the origin of the endpoint; the auth service's unless given */
  origin?: string
}

/** The checked proof of a request; null if the request has none. Throws if the proof is invalid. Does not spend the proof. */
export function readProof(deps: Deps, presented: PresentedProof, accessToken: string | null): DpopProof | null {
  if (presented.proofs.length === 0) return null
  const { authUrl, dpopNonce } = deps.settings
  const at = deps.now()
  const verdict = checkDpopProof(presented.proofs, {
    method: presented.method,
    url: `${presented.origin ?? authUrl}${presented.path}`,
    accessToken,
    at,
    nonceEndsAt: dpopNonce ? (nonce) => dpopNonceEndsAt(deps.keys, nonce, at) : undefined,
  })
  if (verdict.kind === 'nonce_wanted') throw wantsDpopNonce()
  if (verdict.kind === 'refused') throw invalidDpopProof(verdict.reason)
  return { ...verdict.proof, network: presented.network }
}

/** An access token, the authentication scheme, and the unchecked DPoP proof. */
export type PresentedAccessToken = { scheme: TokenScheme; token: string; presented: PresentedProof }

/** RFC 9449 §4.3, §7.1, §7.2: a bound token needs a proof of its key, and an unbound token must not be presented with scheme DPoP. */
export function readProofOfToken(
  deps: Deps,
  { cnf }: AccessTokenClaims,
  { scheme, token, presented }: PresentedAccessToken,
): DpopProof | null {
  if (scheme === 'Bearer') {
    if (cnf) throw invalidToken('bound_token_as_bearer')
    return null
  }
  const proof = readProof(deps, presented, token)
  if (proof === null) throw invalidDpopProof('proof_missing')
  if (proof.jkt !== cnf?.jkt) throw invalidToken(cnf ? 'bound_to_another_key' : 'access_token_not_bound')
  return proof
}

/** The proof of a token request. RFC 9449 §5.2: if the client registered `dpop_bound_access_tokens`, a request without a proof is refused. */
export function readTokenProof(deps: Deps, client: Client, presented: PresentedProof): DpopProof | null {
  const proof = readProof(deps, presented, null)
  if (client.dpopBound && proof === null) throw invalidDpopProof('proof_missing')
  return proof
}

/** §10: refuses a request that does not prove possession of the key, if a code or token is bound to one. */
export function requireKey(jkt: string | null, proof: DpopProof | null): void {
  if (jkt === null) return
  if (proof === null) throw invalidDpopProof('proof_missing')
  if (proof.jkt !== jkt) throw invalidGrant('bound_to_another_key')
}

/** §11.1: accepts each proof once, also if requests on several nodes race. */
export async function spendProof(deps: Deps, { useHash, expiresAt, network }: DpopProof, clientId: string): Promise<void> {
  if (network !== null) deps.countUse(clientId, network)
  const use = { kind: 'dpop', hash: useHash, expiresAt, attemptId: randomUUID() } as const
  if ((await deps.store.spent.spend(use)) === 'spent_before') throw invalidDpopProof('proof_replayed')
}

/** §8.2: the nonce for the next proof; null if the service requires no nonce. */
export function currentNonce({ settings, keys, now }: Deps): string | null {
  return settings.dpopNonce ? makeDpopNonce(keys, now()) : null
}

/** The `cnf` claim of an access token (§6). */
export function bindingOf(proof: DpopProof | null): { jkt: string } | null {
  return proof && { jkt: proof.jkt }
}
