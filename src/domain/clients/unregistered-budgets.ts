/**
 * The budgets of clients that no operator registered. Any caller can bring any number of such clients, so a limit for each client would be
 * no limit: the network of the caller counts. Fetches also count for the host that they go to, because the client chose that host.
 */
import { isUnregistered } from '../../oauth/client-id-url.ts'
import { hostFetchedTooOften, tooManyClientFetches, tooManyUses } from '../../oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'

type Verdict = { allowed: true } | { allowed: false; retryAfter: number }

/** Each counts one fetch; `retryAfter` in seconds. */
export type FetchCounts = { byNetwork(network: string): Verdict; byHost(host: string): Verdict }

/** Counts a fetch of `url` that a caller in `network` causes. Throws if the network or the host has no fetch left. */
export function requireFetchBudget(counts: FetchCounts, network: string, url: string): void {
  const ofNetwork = counts.byNetwork(network)
  if (!ofNetwork.allowed) throw tooManyClientFetches(ofNetwork.retryAfter)
  const ofHost = counts.byHost(new URL(url).hostname)
  if (!ofHost.allowed) throw hostFetchedTooOften(ofHost.retryAfter)
}

/** `count` counts one client assertion or DPoP proof of a client that is not registered. */
export function createUseCounter(count: (network: string) => Verdict): Deps['countUse'] {
  return (clientId, network) => {
    const verdict = isUnregistered(clientId) ? count(network) : null
    if (verdict?.allowed === false) throw tooManyUses(verdict.retryAfter)
  }
}
