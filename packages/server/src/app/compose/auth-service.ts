/**
 * Composes the auth service on an open store. `grantor serve`, `grantor start` and the tests all use this function. Tests pass a clock
 * of their own and run the background tasks themselves.
 */
import type { ServerOptions } from 'node:https'
import { logoutEvent, logoutNotices } from '../../domain/account/logout-notices.ts'
import { createApprovalWaits } from '../../domain/approvals/waits.ts'
import { allClients } from '../../domain/clients/all-clients.ts'
import { ClientDirectory } from '../../domain/clients/client-directory.ts'
import { ClientKeys } from '../../domain/clients/client-keys.ts'
import { MetadataClients, type MetadataClientsOptions } from '../../domain/clients/metadata-clients.ts'
import { createUseCounter } from '../../domain/clients/unregistered-budgets.ts'
import { type Bounds, createBoundKeeper } from '../../domain/maintenance/bounds.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import type { Remembered } from '../../domain/maintenance/upkeep.ts'
import type { AuditEventName } from '../../domain/model/audit-events.ts'
import type { ContractWallets, Deps, ServiceSettings } from '../../domain/model/deps.ts'
import type { Store } from '../../domain/model/store.ts'
import { createNotedIncidents, STORE_AWAY } from '../../domain/nodes/incidents.ts'
import type { Reporter } from '../../domain/nodes/reporter.ts'
import { consoleClient } from '../../domain/operators/console-client.ts'
import { endingsOf } from '../../domain/operators/jobs.ts'
import { RegisteredResources } from '../../domain/resources/registered-resources.ts'
import { createAuthServer } from '../../http/auth/server.ts'
import type { Limited } from '../../http/auth/service.ts'
import { createOutageLog, type OutageLog } from '../../http/outage-log.ts'
import { createPollPace } from '../../http/poll-pace.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { LoggedEvent } from '../../observability/log/audit-log.ts'
import type { Logger } from '../../observability/log/logger.ts'
import { createMachineWatch } from '../../observability/log/machine-watch.ts'
import { currentNetwork } from '../../observability/log/request-log.ts'
import { createLiveState, type LiveState } from '../../observability/metrics/live-state.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { SignInRefusal } from '../../observability/metrics/refused-sign-ins.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import type { Admin } from '../../operators/api/admin.ts'
import type { ServiceSetting } from '../../operators/operations/service.ts'
import type { Look } from '../../pages/look.ts'
import { KeyRing } from '../../protocol/keys/key-ring.ts'
import { parseAddress } from '../../protocol/wallet/address.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import type { Background, Part } from '../process/background.ts'
import { createDeliveries } from '../process/deliveries.ts'
import { composeAccountNames, type Names } from './account-names.ts'
import { composeActivity } from './activity.ts'
import { composeAudit, composeTrailKeeping, composeWebhooks } from './audit.ts'
import { composeCleaning } from './cleaning.ts'
import { composeClientCalls } from './client-calls.ts'
import { countEvents, countSenders, noteAlarms } from './counted-events.ts'
import { composeEndings } from './endings.ts'
import { composeHook, type HookSettings } from './hook.ts'
import { composeJobs } from './jobs.ts'
import { composeNodeReport } from './node-report.ts'
import { ownResources } from './own-resources.ts'
import { fetchCounts } from './rate-limits.ts'
import { composeUpkeep } from './upkeep.ts'
import { version } from './version.ts'

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
  /** when the certificate of `tls` ends, in epoch seconds */
  certificateEndsAt?: (() => number) | undefined
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

/** `server` does not listen yet, and no task of `parts` runs. `close` stops the tasks that run, and closes the parts. The caller closes the store. */
export async function composeOnStore(settings: AuthServiceSettings, runtime: AuthServiceRuntime) {
  const { store, now, logger, metrics } = runtime
  const logs = composeLogs(runtime)
  const kept = await composeKept(settings, runtime, logs)
  const { auditing, endings, upkeep } = kept
  const { live, incidents } = logs
  const { certificateEndsAt } = runtime
  const { keyDueAt } = upkeep
  const reporting = composeNodeReport({ store, now, logger, live, incidents, endings, keyDueAt, certificateEndsAt })
  const { audit, trail } = auditing
  const deliveries = createDeliveries({
    call: kept.calls.logoutNotices,
    note: (outcome) => audit(logoutEvent(outcome)),
    pauses: runtime.noticePauses,
  })
  const announceEnded: Deps['announceEnded'] = (ended) => deliveries.add(() => logoutNotices(deps, ended))
  const bounds = createBoundKeeper({ store, now, audit, announceEnded }, settings.bounds)
  const activity = composeActivity({ store, now, logger })
  const approvalWaits = createApprovalWaits(store.approvals)
  const deps = composeDeps(settings, runtime, { ...kept, announceEnded, bounds, activity: activity.counter, approvalWaits })
  const webhooks = composeWebhooks({
    store,
    wrap: settings.keys.wrap,
    outbound: outboundOf(settings, runtime),
    now,
    log: logs.logAudit,
  })
  const { keyKeeping, noticeChanges } = upkeep
  const serverParts = {
    deps,
    endings,
    keyKeeping,
    live,
    reporter: reporting.reporter,
    storeOutage: logs.storeOutage,
    receivers: webhooks.receivers,
  }
  const { server, admin } = await composeServers(settings, runtime, serverParts)
  const parts: Part[] = [
    upkeep,
    endings,
    { tasks: [{ name: 'keeping bounds', every: 1, run: bounds.keep }] },
    { tasks: [{ name: 'reading answers', every: 1, run: approvalWaits.renew }] },
    composeCleaning({ store, lifetimes: settings.service.lifetimes, now, logger, metrics }),
    composeJobs({ store, now, announceEnded, audit }),
    { close: deliveries.stop },
    webhooks,
    auditing,
    composeTrailKeeping(settings, { store, keys: kept.keys, auditing, now, log: logs.logAudit, metrics }),
    activity,
    reporting,
    { tasks: [{ name: 'noticing machines', every: 1, run: createMachineWatch({ machines: store.placement, logger, metrics }) }] },
  ]
  const close = async (running: readonly Background[] = []): Promise<void> => {
    await Promise.all([...running.map((task) => task.stop()), ...parts.map((part) => part.close?.())])
    // After the tasks and the parts, which record lines too.
    await trail.stop()
  }
  return { server, admin, deps, endings, webhooks: webhooks.webhooks, noticeChanges, parts, storeOutage: logs.storeOutage, close }
}

const outboundOf = ({ allowLoopback }: AuthServiceSettings, { ca }: AuthServiceRuntime) => ({
  allowLoopback,
  ...(ca === undefined ? {} : { ca }),
})

/** What a node keeps in memory of the store: keys, clients, resources and the latest endings; and the audit trail, which each of them writes to. */
async function composeKept(
  settings: AuthServiceSettings,
  runtime: AuthServiceRuntime,
  { logAudit, storeOutage }: ReturnType<typeof composeLogs>,
) {
  const { store, now, clock = now, logger, limits, metrics } = runtime
  const keys = new KeyRing(now)
  const auditing = composeAudit({ store, now, log: logAudit, metrics, limits })
  const calls = composeClientCalls(outboundOf(settings, runtime), runtime.tracing)
  const counts = fetchCounts(limits)
  const resources = new RegisteredResources(store, ownResources(settings.adminUrl))
  const clients = composeClients(settings, { store, keys, fetch: calls.documents, resources, counts, now })
  const endings = composeEndings({ store, keys, settings: settings.service, clock, logger, metrics })
  const forget: Remembered['forget'] = async (changed) => {
    clients.forget(changed)
    endings.feed.forget(changed)
    await resources.renew(changed)
  }
  const upkeep = await composeUpkeep(settings, { store, keys, now, metrics, storeOutage, audit: auditing.audit, forget })
  return { keys, auditing, calls, counts, resources, clients, endings, upkeep }
}

type DepsParts = Pick<Deps, 'announceEnded' | 'bounds' | 'activity' | 'approvalWaits'> & Awaited<ReturnType<typeof composeKept>>

function composeDeps(
  settings: AuthServiceSettings,
  { store, now, limits, metrics, tracing, ca, logger, names, contractWallets }: AuthServiceRuntime,
  { keys, auditing: { audit }, calls, counts, resources, clients, announceEnded, bounds, activity, approvalWaits }: DepsParts,
): Deps {
  const fetch = { registered: calls.registeredKeys, unregistered: calls.unregisteredKeys }
  return {
    store,
    clients,
    resources,
    keys,
    clientKeys: new ClientKeys({ fetch, counts, now }),
    countUse: createUseCounter((network) => limits.count('uses', network)),
    settings: settings.service,
    contractWallets,
    hook: composeHook(settings, { audit, metrics, tracing, ca, now }),
    accountNames: composeAccountNames({ names, fetch: calls.avatars, limits, logger, now }),
    now,
    announceEnded,
    endings: endingsOf(store),
    bounds,
    devicePolls: createPollPace({ now }),
    approvalWaits,
    activity,
    audit,
  }
}

function composeLogs({ logger, now, logAudit, metrics }: AuthServiceRuntime) {
  const live = createLiveState(now)
  const incidents = createNotedIncidents(now)
  const noteAlarm = (kind: string) => incidents.note({ kind, from: now(), until: now(), count: 1 })
  const counted = metrics ? countEvents(logAudit, metrics) : logAudit
  return {
    live,
    incidents,
    logAudit: countSenders(noteAlarms(counted, noteAlarm), live.refusedSenders),
    storeOutage: createOutageLog({
      logger,
      now,
      words: STORE_OUTAGE,
      note: ({ since, failedAt }) => incidents.note({ kind: STORE_AWAY, from: since, until: failedAt, count: 1 }),
    }),
  }
}

type ServerParts = {
  deps: Deps
  endings: ReturnType<typeof composeEndings>
  keyKeeping: KeyKeeping
  storeOutage: OutageLog
  live: LiveState
  reporter: Pick<Reporter, 'present'>
  receivers: Pick<Admin, 'testWebhook' | 'isCallable'>
}

async function composeServers(
  settings: AuthServiceSettings,
  runtime: AuthServiceRuntime,
  { deps, endings, keyKeeping, live, reporter, storeOutage, receivers }: ServerParts,
) {
  const { loginSecrets, trustedProxies, adminUrl, inForce } = settings
  const { store, limits, metrics, logger, look, tracing, isStopping, tls } = runtime
  const readClientLogo = async (id: string) => (await store.clients.readClientLogo(id))?.bytes ?? null
  const parts = { deps, loginSecrets, logger, storeOutage, look, tracing, trustedProxies, tls }
  const checkRows = () => store.placement().checkRows()
  const ofService = { ...parts, endings, readClientLogo, checkRows, limits, isStopping, metrics: live.observe(metrics) }
  if (adminUrl === null) return { server: createAuthServer(ofService), admin: null }
  return {
    server: createAuthServer({ ...ofService, refusedSignIns: countWallets(live) }),
    admin: await composeAdmin({
      ...parts,
      store,
      ownReport: reporter.present,
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
function countWallets({ refusedSignIns }: LiveState): { count(refused: Omit<SignInRefusal, 'network'>): void } {
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
    import('../../operators/api/server.ts'),
    import('../../operators/console/routes.ts'),
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
