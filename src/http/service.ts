/** What the routes are given. */
import type { ServerOptions as SecureServerOptions } from 'node:https'
import type { FastifyBaseLogger } from 'fastify'
import type { Deps } from '../grants/deps.ts'
import type { Metrics } from '../ops/metrics.ts'
import type { FailureLimit } from '../ops/rate-limit.ts'

export type Service = {
  deps: Deps
  /** shared with the login server, and with it alone */
  loginSecret: string
  failures: FailureLimit
  metrics?: Pick<Metrics, 'observeRequest' | 'countRefusal'> | undefined
  logger: FastifyBaseLogger
  /** addresses and networks whose X-Forwarded-For is believed; empty for none */
  trustedProxies: string[]
  /** whether the process was told to stop, so that readiness is over; never, when absent */
  isStopping?: () => boolean
  /** speaks TLS itself; plain http, behind a proxy, when absent */
  tls?: SecureServerOptions | undefined
}
