/**
 * The calls to addresses that clients chose, in separate pools, so that the calls of one kind cannot use up those of another.
 * docs/decisions/0047 gives the reasons.
 */
import type { FetchFromClient } from '../../domain/model/deps.ts'
import type { Tracing } from '../../ops/metrics/tracing.ts'
import { createFetchFromClient, type OutboundOptions } from '../../outbound/fetch-from-client.ts'
import { createDnsLookup } from '../../outbound/resolve-name.ts'
import { traceFetch } from './traced-calls.ts'

export type ClientCalls = {
  /** keys of clients that an operator registered */
  registeredKeys: FetchFromClient
  /** keys of other clients */
  unregisteredKeys: FetchFromClient
  /** metadata documents */
  documents: FetchFromClient
  logoutNotices: FetchFromClient
  /** pictures of names */
  avatars: FetchFromClient
}

const PICTURES = 'image/png, image/jpeg, image/webp, image/gif'

export function composeClientCalls(
  outbound: Pick<OutboundOptions, 'allowLoopback' | 'ca'>,
  tracing: Tracing | undefined,
): ClientCalls {
  const pool = (options: Omit<OutboundOptions, keyof typeof outbound>): FetchFromClient =>
    traceFetch(createFetchFromClient({ ...outbound, ...options }), tracing)
  // Any caller can name these hosts.
  const named = { concurrency: 64, perHost: 4, lookup: createDnsLookup() }
  return {
    registeredKeys: pool({ concurrency: 64, perHost: 16 }),
    unregisteredKeys: pool(named),
    documents: pool(named),
    logoutNotices: pool({}),
    avatars: pool({ ...named, concurrency: 16, accept: PICTURES, bodyAtMost: 262_144, bodyAs: 'latin1' }),
  }
}
