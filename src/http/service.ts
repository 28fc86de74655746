/** The dependencies of the routes. */
import type { ServerOptions as SecureServerOptions } from 'node:https'
import type { FastifyBaseLogger } from 'fastify'
import type { Deps } from '../domain/model/deps.ts'
import type { Metrics } from '../ops/metrics.ts'
import type { RateLimit } from '../ops/rate-limit.ts'
import type { Tracing } from '../ops/tracing.ts'

/**
 * - `failures`: wrong secrets, codes, tokens and signatures, by network and client; a correct request is never refused
 *   because of them
 * - `sign_ins`: proofs of a wallet, correct or not, by network
 * - `contract_checks`: proofs that cause calls to a chain, by network
 * - `wallet_checks`: the same, by network and address; never by address alone, because an address is public
 * - `codes`: codes from a session that was there before, by wallet
 * - `network_codes`: the same, by network
 * - `pushes`: pushed requests of clients that do not authenticate, by network
 * - `client_pushes`: pushed requests of one client that authenticates
 * - `user_codes`: wrong user codes on the page for devices, by network; above the limit no code is looked up
 * - `registrations`: clients that register themselves, by network
 * - `metadata_fetches`: fetches of metadata documents of clients that are not registered, by network
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
  | 'user_codes'
  | 'metadata_fetches'
  | 'registrations'

export type Service = {
  deps: Deps
  /** shared with the login server alone; two while the secret is being changed */
  loginSecrets: readonly string[]
  limits: RateLimit<Limited>
  metrics?: Pick<Metrics, 'observeRequest' | 'countRefusal' | 'countTokens'> | undefined
  /** absent if no collector is configured */
  tracing?: Tracing | undefined
  logger: FastifyBaseLogger
  /** addresses and networks whose X-Forwarded-For is trusted; empty for none */
  trustedProxies: string[]
  /** whether the process is stopping, so that readiness ends; if absent, never */
  isStopping?: (() => boolean) | undefined
  /** TLS options; if absent, the server speaks plain http behind a proxy */
  tls?: SecureServerOptions | undefined
}
