/**
 * Proof of possession at the service's own endpoints (RFC 9449; RFC 9700 §2.2.1): which key a request shows, and that each proof works once.
 *
 * A proof is spent only when everything else in its request holds, and before anything moves: whoever sends a captured one
 * changes nothing, and a request that is refused leaves its proof as it was.
 */
import { randomUUID } from 'node:crypto'
import { dpopNonceEndsAt, makeDpopNonce } from '../keys/dpop-nonce.ts'
import { checkDpopProof, type DpopProof } from '../keys/dpop-proof.ts'
import { invalidDpopProof, invalidGrant, wantsDpopNonce } from '../oauth/oauth-error.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

export type { DpopProof }

/** The `DPoP` fields of a request, as they came, and what it asked: a path of ours. */
export type PresentedProof = { proofs: readonly string[]; method: string; path: string }

/** The key that a request shows; null where it brings no proof. Throws for a proof that does not hold. Nothing is stored. */
export function readProof(deps: Deps, presented: PresentedProof, accessToken: string | null): DpopProof | null {
  if (presented.proofs.length === 0) return null
  const { authUrl, dpopNonce } = deps.settings
  const at = deps.now()
  const verdict = checkDpopProof(presented.proofs, {
    method: presented.method,
    url: `${authUrl}${presented.path}`,
    accessToken,
    at,
    nonceEndsAt: dpopNonce ? (nonce) => dpopNonceEndsAt(deps.keys, nonce, at) : undefined,
  })
  if (verdict.kind === 'nonce_wanted') throw wantsDpopNonce()
  if (verdict.kind === 'refused') throw invalidDpopProof(verdict.reason)
  return verdict.proof
}

/** The proof of a token request. RFC 9449 §5.2: from a client registered so, "requests […] that do not contain the DPoP header" are refused. */
export function readTokenProof(deps: Deps, client: Client, presented: PresentedProof): DpopProof | null {
  const proof = readProof(deps, presented, null)
  if (client.dpopBound && proof === null) throw invalidDpopProof('proof_missing')
  return proof
}

/** §10: what is bound to a key moves for that key alone. Somebody else's changes nothing. */
export function requireKey(jkt: string | null, proof: DpopProof | null): void {
  if (jkt === null) return
  if (proof === null) throw invalidDpopProof('proof_missing')
  if (proof.jkt !== jkt) throw invalidGrant('bound_to_another_key')
}

/** §11.1. Of any number of uses of one proof, on any number of nodes, one passes. */
export async function spendProof(deps: Deps, { useHash, expiresAt }: DpopProof): Promise<void> {
  const use = { kind: 'dpop', hash: useHash, expiresAt, attemptId: randomUUID() } as const
  if ((await deps.store.spent.spend(use)) === 'spent_before') throw invalidDpopProof('proof_replayed')
}

/** §8.2: the nonce for the next proof; null where the service hands out none. */
export function currentNonce({ settings, keys, now }: Deps): string | null {
  return settings.dpopNonce ? makeDpopNonce(keys, now()) : null
}

/** `cnf` of an access token (§6). */
export function bindingOf(proof: DpopProof | null): { jkt: string } | null {
  return proof && { jkt: proof.jkt }
}
