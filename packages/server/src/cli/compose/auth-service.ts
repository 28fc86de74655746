/**
 * Composes the auth service on an open store. `grantor serve`, `grantor start` and the tests all use this function. Tests pass a clock
 * of their own and run the background tasks themselves.
 */
import type { ServerOptions } from 'node:https'
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Admin } from '../../admin/admin.ts'
import { logoutEvent, logoutNotices } from '../../domain/account/logout-notices.ts'
import { ActivityCounter } from '../../domain/activity/activity-counter.ts'
import { allClients } from '../../domain/clients/all-clients.ts'
import { ClientDirectory } from '../../domain/clients/client-directory.ts'
import { ClientKeys } from '../../domain/clients/client-keys.ts'
import { MetadataClients, type MetadataClientsOptions } from '../../domain/clients/metadata-clients.ts'
import { createUseCounter } from '../../domain/clients/unregistered-budgets.ts'
import { auditKeys } from '../../domain/maintenance/audited-keys.ts'
import { type Bounds, createBoundKeeper } from '../../domain/maintenance/bounds.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import { createUpkeep, type Remembered } from '../../domain/maintenance/upkeep.ts'
import type { AuditEventName } from '../../domain/model/audit-events.ts'
import type { ContractWallets, Deps, ServiceSettings } from '../../domain/model/deps.ts'
import type { Job } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { consoleClient } from '../../domain/operators/console-client.ts'
import { conditionsOf, createJobWorker, endingsOf } from '../../domain/operators/jobs.ts'
import { RegisteredResources } from '../../domain/resources/registered-resources.ts'
import { createAuthServer } from '../../http/server.ts'
import type { Limited } from '../../http/service.ts'
import { KeyRing } from '../../keys/key-ring.ts'
import type { ServiceSetting } from '../../operations/service.ts'
import { createOutageLog, type OutageLog } from '../../ops/http/outage-log.ts'
import { createPollPace } from '../../ops/http/poll-pace.ts'
import type { RateLimit } from '../../ops/http/rate-limit.ts'
import { currentNetwork } from '../../ops/http/request-log.ts'
import type { LoggedEvent } from '../../ops/log/audit-log.ts'
import type { Logger } from '../../ops/log/logger.ts'
import { createLiveState, type LiveState } from '../../ops/metrics/live-state.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import type { RefusedSignIn } from '../../ops/metrics/refused-sign-ins.ts'
import type { Tracing } from '../../ops/metrics/tracing.ts'
import { createDeliveries } from '../../ops/process/deliveries.ts'
import type { Look } from '../../pages/look.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { parseAddress } from '../../wallet/address.ts'
import { version } from '../terminal/version.ts'
import { composeAccountNames, type Names } from './account-names.ts'
import { composeAudit, composeTrailKeeping, composeWebhooks } from './audit.ts'
import { composeClientCalls } from './client-calls.ts'
import { countEvents, countSenders } from './counted-events.ts'
import { composeEndings } from './endings.ts'
import { composeHook, type HookSettings } from './hook.ts'
import { ownResources } from './own-resources.ts'
import { fetchCounts } from './rate-limits.ts'
import { watchedKeys } from './watched-keys.ts'

export type AuthServiceSettings = {
  service: ServiceSettings
  keys: Omit<KeyKeeping, 'store' | 'now'>
  bounds: Bounds
  /** shared with the login server alone; two while the secret is being changed */
  loginSecrets: readonly string[]
  trustedProxies: string[]
  /** the origin of the admin API; null if the admin API is off */
  adminUrl: string | null
  /** null if clients with metadata documents are not accepted; empty `hosts` for all hosts */
  clientMetadata: { hosts: readonly string[]; blockedHosts: readonly string[] } | null
  /** true if the registered addresses of clients may be on this machine */
  allowLoopback: boolean
  /** null if the operator has no hook */
  hook: HookSettings | null
  /** days for which lines of the audit trail are kept */
  auditDays: number
  /** what operators see of the settings */
  inForce: readonly ServiceSetting[]
}

export type AuthServiceRuntime = {
  store: OpenedStore
  /** epoch seconds */
  now: () => number
  /** the same with a fraction; `now` if absent */
  clock?: (() => number) | undefined
  logger: Logger
  /** writes one line of the audit log */
  logAudit: (event: LoggedEvent<AuditEventName>) => void
  limits: RateLimit<Limited>
  /** null if no chain is configured */
  contractWallets: ContractWallets | null
  /** null if accounts are shown by their addresses only */
  names: Names | null
  metrics?: Metrics | undefined
  /** of the pages; if absent, that of Grantor */
  look?: Look | undefined
  /** absent if no collector is configured; the caller traces the store and the chains */
  tracing?: Tracing | undefined
  isStopping?: (() => boolean) | undefined
  /** if absent, the server uses plain http behind a proxy */
  tls?: ServerOptions | undefined
  /** certificates of clients to trust in addition to the system's, PEM */
  ca?: string | undefined
  /** seconds before each attempt to deliver a logout notice; the usual ones if absent */
  noticePauses?: readonly number[]
}

const STORE_OUTAGE = {
  begun: 'the store fails: requests that need it get 503. One line a minute follows',
  continues: 'the store still fails',
  ended: 'the store works again',
}

/** `server` does not listen yet, and no background task runs. The caller closes the store. */
export async function composeOnStore(settings: AuthServiceSettings, runtime: AuthServiceRuntime) {
  const { store, now, limits, contractWallets, metrics, tracing, ca, noticePauses: pauses } = runtime
  const { live, logAudit, storeOutage } = composeLogs(settings, runtime)
  const keys = new KeyRing(now)
  const { audit, trail, recordCounts, moveWaiting } = composeAudit({ store, now, log: logAudit, metrics, limits })
  const outbound = { allowLoopback: settings.allowLoopback, ...(ca === undefined ? {} : { ca }) }
  const calls = composeClientCalls(outbound, tracing)
  const counts = fetchCounts(limits)
  const resources = new RegisteredResources(store, ownResources(settings.adminUrl))
  const clients = composeClients(settings, { store, keys, fetch: calls.documents, resources, counts, now })
  const { clock = now, logger } = runtime
  const endings = composeEndings({ store, keys, settings: settings.service, clock, logger, metrics })
  const remembered: Remembered = {
    async forget(changed) {
      clients.forget(changed)
      endings.feed.forget(changed)
      await resources.renew(changed)
    },
  }
  const watched = watchedKeys(auditKeys(store.keys, audit), settings.keys.rotateAfter)
  metrics?.watchKeys(watched.read)
  const keyKeeping = { ...settings.keys, store: watched.keys, now }
  const upkeep = createUpkeep(store, remembered, keys, keyKeeping)
  await upkeep.noticeChanges()
  const deliveries = createDeliveries({ call: calls.logoutNotices, note: (outcome) => audit(logoutEvent(outcome)), pauses })
  const announceEnded: Deps['announceEnded'] = (ended) => deliveries.add(() => logoutNotices(deps, ended))
  const bounds = createBoundKeeper({ store, now, audit, announceEnded }, settings.bounds)
  const activity = new ActivityCounter(store.activity, now)
  const deps: Deps = {
    store,
    clients,
    resources,
    keys,
    clientKeys: new ClientKeys({
      fetch: { registered: calls.registeredKeys, unregistered: calls.unregisteredKeys },
      counts,
      now,
    }),
    countUse: createUseCounter((network) => limits.count('uses', network)),
    settings: settings.service,
    contractWallets,
    hook: composeHook(settings, { audit, metrics, tracing, ca, now }),
    accountNames: composeAccountNames({ names: runtime.names, fetch: calls.avatars, limits, logger, now }),
    now,
    announceEnded,
    endings: endingsOf(store),
    bounds,
    devicePolls: createPollPace({ now }),
    activity,
    audit,
  }
  const { webhooks, ...receivers } = composeWebhooks({ store, wrap: settings.keys.wrap, outbound, now, log: logAudit })
  const keeping = { store, keys, trail, recordCounts, issuer: settings.service.authUrl, now, log: logAudit }
  const keepTrail = composeTrailKeeping({ ...keeping, days: settings.auditDays, metrics })
  const serverParts = { deps, endings, keyKeeping, live, storeOutage, receivers }
  const { server, admin } = await composeServers(settings, runtime, serverParts)
  const workers = composeJobWorkers(store, deps)
  const tasks = { activity, endings, upkeep, bounds, keepTrail, moveWaiting, webhooks, ...workers }
  return { server, admin, deps, deliveries, trail, storeOutage, ...tasks }
}

function composeLogs({ adminUrl }: AuthServiceSettings, { logger, now, logAudit, metrics }: AuthServiceRuntime) {
  // The console shows the requests of the auth service. Without the console, they are not counted a second time.
  const live = adminUrl === null ? null : createLiveState(now)
  const counted = metrics ? countEvents(logAudit, metrics) : logAudit
  return {
    live,
    logAudit: live ? countSenders(counted, live.refusedSenders) : counted,
    storeOutage: createOutageLog({ logger, now, words: STORE_OUTAGE }),
  }
}

function composeJobWorkers(store: Store, { now, announceEnded, audit }: Deps) {
  const note = ({ kind, clientId, ofWallet, matching, startedBy, grantsEnded }: Job): Promise<void> => {
    const details = { grants: grantsEnded, ...conditionsOf(matching) }
    const client = clientId === '' ? {} : { client_id: clientId }
    if (kind === 'delete_client') return audit({ event: 'client_deleted', ...client, operator: startedBy, details })
    const ofMatching = matching?.wallet ? { wallet: matching.wallet } : {}
    if (ofWallet === null) return audit({ event: 'grants_ended', ...ofMatching, ...client, operator: startedBy, details })
    const { wallet, reason } = ofWallet
    const operator = reason === 'operator' ? { operator: startedBy } : {}
    return audit({ event: 'grants_ended', reason, wallet, ...client, ...operator, details })
  }
  const work = { store, announceEnded, now, note, pause: (milliseconds: number) => pauseFor(milliseconds) }
  return {
    workOnJobs: createJobWorker('jobs', work),
    workOnEndings: createJobWorker('endings', work),
    workOnMatching: createJobWorker('matching', work),
  }
}

type ServerParts = {
  deps: Deps
  endings: ReturnType<typeof composeEndings>
  keyKeeping: KeyKeeping
  storeOutage: OutageLog
  /** null if the admin API is off */
  live: LiveState | null
  receivers: Pick<Admin, 'testWebhook' | 'isCallable'>
}

async function composeServers(
  settings: AuthServiceSettings,
  runtime: AuthServiceRuntime,
  { deps, endings, keyKeeping, live, storeOutage, receivers }: ServerParts,
) {
  const { loginSecrets, trustedProxies, adminUrl, inForce } = settings
  const { store, limits, metrics, logger, look, tracing, isStopping, tls } = runtime
  const readClientLogo = async (id: string) => (await store.clients.readClientLogo(id))?.bytes ?? null
  const parts = { deps, endings, loginSecrets, logger, storeOutage, look, tracing, trustedProxies, tls }
  const checkRows = () => store.placement().checkRows()
  const ofService = { ...parts, readClientLogo, checkRows, limits, isStopping }
  if (adminUrl === null || live === null) return { server: createAuthServer({ ...ofService, metrics }), admin: null }
  return {
    server: createAuthServer({ ...ofService, metrics: live.observe(metrics), refusedSignIns: countWallets(live) }),
    admin: await composeAdmin({
      ...parts,
      store,
      machinesAway: () => store.placement().machinesAway,
      keyKeeping,
      adminUrl,
      metrics,
      live,
      ...receivers,
      findName: runtime.names?.findName ?? null,
      isDevelopment: settings.allowLoopback,
      settings: inForce,
      version: version(),
    }),
  }
}

/** Only what is an address is counted. */
function countWallets({ refusedSignIns }: LiveState): { count(refused: Omit<RefusedSignIn, 'network'>): void } {
  return {
    count({ wallet, reason }) {
      const parsed = parseAddress(wallet)
      if (parsed.kind === 'address')
        refusedSignIns.count({ network: currentNetwork() ?? 'unknown', wallet: parsed.address, reason })
    },
  }
}

/** The admin server, which does not listen yet. Imported only if the admin API is on. */
async function composeAdmin(admin: Admin) {
  const [{ createAdminServer }, { consoleRoutes }] = await Promise.all([
    import('../../admin/server.ts'),
    import('../../console/routes.ts'),
  ])
  return { server: createAdminServer(admin, consoleRoutes) }
}

type ClientParts = MetadataParts & { store: Store; keys: KeyRing }

function composeClients(settings: AuthServiceSettings, { store, keys, ...parts }: ClientParts) {
  const { adminUrl, service } = settings
  return allClients({
    directory: new ClientDirectory(store, parts.now, adminUrl === null ? [] : [consoleClient(adminUrl)]),
    metadata: composeMetadataClients(settings, parts),
    registrationKeys: service.dynamicRegistration === null ? null : keys,
    resources: parts.resources,
  })
}

type MetadataParts = Pick<MetadataClientsOptions, 'fetch' | 'resources' | 'counts' | 'now'>

function composeMetadataClients(
  { clientMetadata, allowLoopback }: AuthServiceSettings,
  parts: MetadataParts,
): MetadataClients | null {
  if (clientMetadata === null) return null
  const { hosts, blockedHosts } = clientMetadata
  const policy = {
    allowLoopback,
    isHostAllowed: (host: string) => (hosts.length === 0 || matchesHost(hosts, host)) && !matchesHost(blockedHosts, host),
  }
  return new MetadataClients({ ...parts, policy })
}

function matchesHost(patterns: readonly string[], host: string): boolean {
  return patterns.some((pattern) => (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern))
}
