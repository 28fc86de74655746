import { checkDpopProof, type DpopProof } from '../keys/dpop-proof.ts'
import type { AccessToken } from './access-token.ts'
import { headerValues, type PresentedRequest } from './presented-token.ts'
import { type ProofReplays, rememberInMemory } from './proof-replays.ts'
import type { Refusals } from './resource-error.ts'

export interface DpopOptions {
  /**
   * Where apps call this API, such as `https://api.example.com`: scheme, host and port. With the path of the request behind it,
   * it is what a proof must name (`htu`). Told here, because what a request says of its host is the caller's word.
   */
  origin: string
  /** Refuses tokens that are bound to no key; default false. */
  required?: boolean
  /** Where uses of proofs are remembered; default: in this process's memory, the latest 100,000. */
  replays?: ProofReplays
}

/** What a proof must be for, where the request does not say so itself: behind a proxy that rewrites paths, for example. */
export interface CalledAs {
  /** The HTTP method; default the request's own. */
  htm?: string
  /** The full address that the app called; default `origin` and the request's own path. Query and fragment do not count. */
  htu?: string
}

/**
 * Checks that whoever presents a bound token has its key (RFC 9449 §4.3, §7.1).
 *
 * In two steps, so that a call refused for any other reason leaves its proof unused.
 */
export function createProofCheck({ origin, replays }: DpopOptions, now: () => number, refuse: Refusals) {
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

/** Express and Fastify keep what was asked for in `originalUrl` where they have cut their own part off `url`. */
function addressOf({ originalUrl, url }: PresentedRequest, origin: string): string | undefined {
  const asked = originalUrl ?? url
  // Absolute in the Fetch standard: then its path is what counts.
  return asked === undefined ? undefined : `${origin.replace(/\/$/, '')}${asked.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')}`
}
