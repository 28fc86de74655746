/** The dependencies of the routes. */
import type { ServerOptions as SecureServerOptions } from 'node:https'
import type { FastifyBaseLogger } from 'fastify'
import type { EndingFeed } from '../../domain/endings/feed.ts'
import type { FeedReaders } from '../../domain/endings/feed-readers.ts'
import type { Deps } from '../../domain/model/deps.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { SignInRefusal } from '../../observability/metrics/refused-sign-ins.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import type { Look } from '../../pages/look.ts'
import type { OutageLog } from '../outage-log.ts'
import type { RateLimit } from '../rate-limit.ts'

/**
 * - `failures`: wrong secrets, codes, tokens and signatures, by network and client; authorization requests that are answered with the page of a
 *   fault, by network; a correct request is never refused because of them
 * - `sign_ins`: proofs of a wallet, correct or not, by network
 * - `contract_checks`: proofs that cause calls to a chain, by network
 * - `wallet_checks`: the same, by network and address; never by address alone, because an address is public
 * - `codes`: codes from a session that was there before, by wallet
 * - `network_codes`: the same, by network
 * - `pushes`: pushed requests of clients that are not registered or do not authenticate, by network
 * - `client_pushes`: pushed requests of one registered client that authenticates
 * - `client_tokens`, `client_introspections`, `client_revocations`: requests of one registered client that has a limit of its own; of a public
 *   client, by network too
 * - `client_token_revocations`: revocations of tokens without a grant, by client
 * - `token_lines`, `ending_lines`, `wallet_lines`, `network_lines`: lines of the audit trail, by client, wallet or network; above the limit the
 *   events are only counted there
 * - `uses`: client assertions and DPoP proofs of clients that are not registered, by network
 * - `user_codes`: wrong user codes on the page for devices, by network; above the limit no code is looked up
 * - `registrations`: clients that register themselves, by network
 * - `client_fetches`: fetches of metadata documents and keys of clients that are not registered, by network
 * - `host_fetches`: the same, by the host that is called
 * - `refusal_pages`: refusals that are complete pages, of this process; above the limit the pages are short
 * - `feed_reads`: requests for the feed of endings, by client
 */
export type Limited =
  | 'failures'
  | 'sign_ins'
  | 'contract_checks'
  | 'wallet_checks'
  | 'codes'
  | 'network_codes'
  | 'pushes'
  | 'client_pushes'
  | OwnLimited
  | 'client_token_revocations'
  | 'token_lines'
  | 'ending_lines'
  | 'wallet_lines'
  | 'network_lines'
  | 'user_codes'
  | 'client_fetches'
  | 'host_fetches'
  | 'uses'
  | 'registrations'
  | 'refusal_pages'
  | 'feed_reads'

/** What a registered client may have a limit of its own for. Clients without one are not counted. */
export type OwnLimited = 'client_tokens' | 'client_introspections' | 'client_revocations'

export type HttpService = {
  deps: Deps
  endings: { feed: EndingFeed; readers: FeedReaders }
  /** shared with the login server alone; two while the secret is being changed */
  loginSecrets: readonly string[]
  limits: RateLimit<Limited>
  metrics?: Pick<Metrics, 'observeRequest' | 'expectRoute' | 'countRefusal' | 'countTokens' | 'countDraw'> | undefined
  /** absent if no collector is configured */
  tracing?: Tracing | undefined
  /** Counts a refused sign-in. `wallet` is what the caller named. Absent if no operator can read them. */
  refusedSignIns?: { count(refused: Omit<SignInRefusal, 'network'>): void } | undefined
  logger: FastifyBaseLogger
  /** counts the requests that fail because of the store, in place of a line for each */
  storeOutage: Pick<OutageLog, 'failed'>
  /** Throws unless rows can be read and changed while the machine of the keys and clients is unavailable. On one machine, always throws. */
  checkRows(): Promise<void>
  /** the bytes of the logo of a client; null without one */
  readClientLogo(clientId: string): Promise<Uint8Array | null>
  /** of the pages; if absent, that of Grantor */
  look?: Look | undefined
  /** addresses and networks whose X-Forwarded-For is trusted; empty for none */
  trustedProxies: string[]
  /** whether the process is stopping, so that readiness ends; if absent, never */
  isStopping?: (() => boolean) | undefined
  /** TLS options; if absent, the server uses plain http behind a proxy */
  tls?: SecureServerOptions | undefined
}
