import { checkDpopProof, type DpopProof } from '@grantor/protocol/dpop-proof'
import type { AccessToken } from './access-token.ts'
import { headerValues, type PresentedRequest, withoutOrigin } from './presented-token.ts'
import { type ProofReplays, rememberInMemory } from './proof-replays.ts'
import { refuse } from './resource-error.ts'

export interface DpopOptions {
  /**
   * The address under which apps call this API, such as `https://api.example.com`: scheme, host and port. The origin
   * with the path of the request is what a proof must name (`htu`). The origin is configured, because the caller controls the
   * host in a request.
   */
  origin: string
  /** Refuses tokens that are not bound to a key; default false. */
  required?: boolean
  /** The record of used proofs; default: this process's memory, the latest 100,000. */
  replays?: ProofReplays
}

/**
 * The values that a proof must match, if they differ from those of the request: behind a proxy that rewrites paths, for
 * example.
 */
export interface CalledAs {
  /** The HTTP method; default: the request's method. */
  htm?: string
  /** The full address that the app called; default: `origin` with the request's path. Query and fragment are ignored. */
  htu?: string
}

/**
 * Checks that the caller has the key of the bound token (RFC 9449 §4.3, §7.1).
 *
 * The check has two steps, so that a call that is refused for another reason does not spend the proof.
 */
export function createProofCheck({ origin, replays }: DpopOptions, now: () => number) {
  const uses = replays ?? rememberInMemory(now)

  function checkProof(request: PresentedRequest, token: string, { keyThumbprint }: AccessToken, called: CalledAs): DpopProof {
    const proofs = headerValues(request, 'dpop')
    if (proofs.length === 0) throw refuse.invalidProof('proof_missing')
    const method = called.htm ?? request.method
    const url = called.htu ?? addressOf(request, origin)
    if (method === undefined || url === undefined)
      throw new TypeError('a DPoP proof needs the request’s method and url: pass them')
    const verdict = checkDpopProof(proofs, { method, url, accessToken: token, at: now() })
    if (verdict.kind !== 'holds') throw refuse.invalidProof(verdict.kind === 'refused' ? verdict.reason : verdict.kind)
    // §7.1: "that the public key to which the access token is bound matches the public key from the DPoP proof"
    if (verdict.proof.jkt !== keyThumbprint) throw refuse.invalidToken('bound_to_another_key')
    return verdict.proof
  }

  async function spendProof({ useHash: hash, expiresAt }: DpopProof): Promise<void> {
    let first: boolean
    try {
      first = await uses.spend({ hash, expiresAt })
    } catch (cause) {
      throw refuse.unavailable('proof_replays_unavailable', { cause })
    }
    if (!first) throw refuse.invalidProof('proof_replayed')
  }

  return { checkProof, spendProof }
}

/** Express and Fastify keep the full target in `originalUrl` if a router removed a prefix from `url`. */
function addressOf({ originalUrl, url }: PresentedRequest, origin: string): string | undefined {
  const target = originalUrl ?? url
  return target === undefined ? undefined : `${origin.replace(/\/$/, '')}${withoutOrigin(target)}`
}
