/**
 * The budgets of clients that no operator registered. Any caller can bring any number of such clients, so a limit for each client would be
 * no limit: the network of the caller counts. Fetches also count for the host that they go to, because the client chose that host.
 */
import { isUnregistered } from '../../protocol/oauth/client-id-url.ts'
import { hostFetchedTooOften, tooManyClientFetches, tooManyUses } from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'

type BudgetVerdict = { allowed: true } | { allowed: false; retryAfter: number }

/** Each counts one fetch under a key; `retryAfter` in seconds. */
export type FetchCounts = { byNetwork(key: string): BudgetVerdict; byHost(key: string): BudgetVerdict }

/** `inMemory`: what a copy of is in memory; null for an address that is new. */
export type CountedFetch = { url: string; network: string; inMemory: 'document' | 'keys' | null }

/**
 * Counts a fetch that a caller in `network` causes. Throws if the network or the host has no fetch left. Fetches of what is in memory are counted
 * apart: otherwise callers of a few networks could name unknown addresses of a host until no client of this host can be used. A caller can also
 * name any number of addresses of one key set, so documents and keys are counted apart.
 */
export function requireFetchBudget(counts: FetchCounts, { url, network, inMemory }: CountedFetch): void {
  const kind = inMemory === null ? '' : `${inMemory} `
  const ofNetwork = counts.byNetwork(`${kind}${network}`)
  if (!ofNetwork.allowed) throw tooManyClientFetches(ofNetwork.retryAfter)
  const ofHost = counts.byHost(`${kind}${new URL(url).hostname}`)
  if (!ofHost.allowed) throw hostFetchedTooOften(ofHost.retryAfter)
}

/** `count` counts one client assertion or DPoP proof of a client that is not registered. */
export function createUseCounter(count: (network: string) => BudgetVerdict): Deps['countUse'] {
  return (clientId, network) => {
    const verdict = isUnregistered(clientId) ? count(network) : null
    if (verdict?.allowed === false) throw tooManyUses(verdict.retryAfter)
  }
}
