/** The limits per minute of each limited event, from the settings. */
import type { Settings } from '../../config/settings.ts'
import type { FetchCounts } from '../../domain/clients/unregistered-budgets.ts'
import type { Limited } from '../../http/auth/service.ts'
import { createRateLimit, ownLimitsOnly, type RateLimit } from '../../http/rate-limit.ts'
import { LINE_LIMITS, LINES_PER_SIGN_IN } from './line-limits.ts'

type LimitSettings = Settings<'serve' | 'start'>

/** Each check causes calls to every endpoint of the chain. */
const CONTRACT_CHECKS = 60
const WALLET_CHECKS = 30
/** RFC 8628 §5.1: with 20^8 codes, a guess succeeds with a probability of 4 in 10^11 for each request that is open. */
const USER_CODES = 5
/** Each fetch is a request to a host that the caller chose. */
const CLIENT_FETCHES = 30
/** Several times as many as those of one network, so that one network cannot use up the fetches of a host. */
const HOST_FETCHES = 120
const REGISTRATIONS = 30
/** Complete pages of refusals. People cause a few in a minute. */
const REFUSAL_PAGES = 600
/** Many users can share one address. Without a limit of the network, one caller could have as many codes as it has wallets. */
const WALLETS_OF_NETWORK = 4
/** Each is a row until the token would have expired. */
const CLIENT_TOKEN_REVOCATIONS = 6000

/** Connections and single reads of all processes of one API. A failover makes each of them read again. */
const FEED_READS = 6000

/** The limits of these events are in the registrations of the clients. Requests of other clients are not counted. */
const IN_REGISTRATION = Number.POSITIVE_INFINITY

export function limitsOf(settings: LimitSettings): Record<Limited, number> {
  const { failureLimit, signInLimit, codeLimit, pushLimit, clientPushLimit, assertionLimit } = settings
  return {
    failures: failureLimit,
    sign_ins: signInLimit,
    contract_checks: CONTRACT_CHECKS,
    wallet_checks: WALLET_CHECKS,
    codes: codeLimit,
    network_codes: WALLETS_OF_NETWORK * codeLimit,
    pushes: pushLimit,
    client_pushes: clientPushLimit,
    client_tokens: IN_REGISTRATION,
    client_introspections: IN_REGISTRATION,
    client_revocations: IN_REGISTRATION,
    client_token_revocations: CLIENT_TOKEN_REVOCATIONS,
    user_codes: USER_CODES,
    client_fetches: CLIENT_FETCHES,
    host_fetches: HOST_FETCHES,
    uses: assertionLimit,
    registrations: REGISTRATIONS,
    refusal_pages: REFUSAL_PAGES,
    feed_reads: FEED_READS,
    ...LINE_LIMITS,
    network_lines: LINES_PER_SIGN_IN * signInLimit,
  }
}

/** The budgets of fetches for clients that are not registered. */
export function fetchCounts(limits: RateLimit<Limited>): FetchCounts {
  return {
    byNetwork: (key) => limits.count('client_fetches', key),
    byHost: (key) => limits.count('host_fetches', key),
  }
}

/** The limits of a single process, counted by itself. */
export function ownLimits(settings: LimitSettings, now: () => number): RateLimit<Limited> {
  return limitsInForce(settings, createRateLimit({ perMinute: limitsOf(settings), now }))
}

/** Without the limits of the service, those that an operator registered for a client still count. */
export function limitsInForce({ rateLimit }: Pick<LimitSettings, 'rateLimit'>, limits: RateLimit<Limited>): RateLimit<Limited> {
  return rateLimit ? limits : ownLimitsOnly(limits)
}
