/** What the admin server needs. */
import type { ServerOptions } from 'node:https'
import type { FastifyBaseLogger } from 'fastify'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import type { Deps } from '../../domain/model/deps.ts'
import type { Store } from '../../domain/model/store.ts'
import type { OutageLog } from '../../http/outage-log.ts'
import type { LiveState } from '../../observability/metrics/live-state.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import type { Look } from '../../pages/look.ts'
import type { Service, ServiceSetting } from '../operations/service.ts'

export type Admin = {
  /** the dependencies of the auth service in the same process */
  deps: Deps
  store: Store
  keyKeeping: KeyKeeping
  /** the origin of the admin server */
  adminUrl: string
  /** true for `grantor start` */
  isDevelopment: boolean
  /** the settings in force of this process */
  settings: readonly ServiceSetting[]
  /** of the package */
  version: string
  logger: FastifyBaseLogger
  /** counts the requests that fail because of the store, in place of a line for each */
  storeOutage: Pick<OutageLog, 'failed'>
  /** of the pages that users see, for a preview; if absent, that of Grantor */
  look?: Look | undefined
  metrics?: Pick<Metrics, 'observeRequest' | 'expectRoute' | 'countRefusal'> | undefined
  tracing?: Tracing | undefined
  /** resolves an ENS name; null if names are off */
  findName: Service['findName'] | null
  /** sends a test to a webhook */
  testWebhook: Service['testWebhook']
  isCallable: Service['isCallable']
  /** what this process reports */
  ownReport: Service['ownReport']
  /** of the auth service in the same process */
  live: Pick<LiveState, 'startedAt' | 'refusedSignIns'>
  /** addresses and networks whose X-Forwarded-For is trusted; empty for none */
  trustedProxies: string[]
  /** for the probe of `grantor doctor` */
  loginSecrets: readonly string[]
  /** if absent, the server uses plain http behind a proxy */
  tls?: ServerOptions | undefined
}
