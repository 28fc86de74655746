/**
 * The calls to addresses that clients chose, in separate pools, so that the calls of one kind cannot use up those of another.
 * docs/decisions/0003 gives the reasons.
 */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { FetchFromClient } from '../../domain/model/deps.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import { createFetchFromClient, type OutboundOptions } from '../../outbound/http/fetch-from-client.ts'
import { createDnsLookup } from '../../outbound/http/resolve-name.ts'
import { traceFetch } from './traced-calls.ts'

export type ClientCalls = {
  /** keys of clients that an operator registered */
  registeredKeys: FetchFromClient
  /** keys of other clients; `again`: those of which a set is in memory */
  unregisteredKeys: { first: FetchFromClient; again: FetchFromClient }
  /** metadata documents; `again`: those of which a copy is in memory */
  documents: { first: FetchFromClient; again: FetchFromClient }
  logoutNotices: FetchFromClient
  /** pictures of names */
  avatars: FetchFromClient
}

/**
 * Milliseconds between two calls to hosts that any caller can name: at most 100 calls a second of one kind, which take a twentieth of the processor
 * time of a core, and with TLS a fifth.
 */
const PACE = 10

const PICTURES = 'image/png, image/jpeg, image/webp, image/gif'

export function composeClientCalls(
  outbound: Pick<OutboundOptions, 'allowLoopback' | 'ca'>,
  tracing: Tracing | undefined,
): ClientCalls {
  const pool = (options: Omit<OutboundOptions, keyof typeof outbound>): FetchFromClient =>
    traceFetch(createFetchFromClient({ ...outbound, ...options }), tracing)
  // Any caller can name these hosts.
  const named = { concurrency: 64, perHost: 4, pause: () => pauseFor(PACE, undefined, { ref: false }), lookup: createDnsLookup() }
  return {
    registeredKeys: pool({ concurrency: 64, perHost: 16 }),
    unregisteredKeys: { first: pool(named), again: pool(named) },
    documents: { first: pool(named), again: pool(named) },
    logoutNotices: pool({}),
    avatars: pool({ ...named, concurrency: 16, accept: PICTURES, bodyAtMost: 262_144, bodyAs: 'latin1' }),
  }
}
