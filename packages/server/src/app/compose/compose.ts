/**
 * From the settings to the two servers, which do not listen yet. The servers are imported only when they are composed, so that the
 * operator's commands start without them.
 */
import type { Settings } from '../../config/settings.ts'
import { auditEvents } from '../../domain/model/audit-events.ts'
import type { Limited } from '../../http/auth/service.ts'
import type { DevelopmentWallet } from '../../http/login/server.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { createAuditLog } from '../../observability/log/audit-log.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { createDrain } from '../process/drain.ts'
import { connectNames } from './account-names.ts'
import type { composeOnStore } from './auth-service.ts'
import { startBackground } from './background-tasks.ts'
import { checkSigning } from './check-signing.ts'
import { type ConnectedChains, connectChains } from './contract-wallets.ts'
import { lookOf } from './look.ts'
import { ownLimits } from './rate-limits.ts'
import { authServiceSettings } from './service-settings.ts'
import type { Tls } from './tls.ts'
import { traceChainCalls } from './traced-calls.ts'
import { tracingFor } from './tracing.ts'
import { readWalletConnect } from './walletconnect.ts'
import { openFailure, openStore } from './with-store.ts'

type Runtime = { logger: Logger; now: () => number }

type ComposeOptions = Runtime & {
  metrics?: Metrics | undefined
  /** the rate limits; if absent, this process counts by itself */
  limits?: RateLimit<Limited> | undefined
  development?: boolean
  tls?: Tls | undefined
}

/**
 * Composes the auth service with its store and starts the background tasks. Call `drain` before the server is closed and `close` after.
 */
export async function composeAuthService(settings: Settings<'serve' | 'start'>, options: ComposeOptions) {
  // The imports run while the store is opened.
  const composition = import('./auth-service.ts')
  const opening = tracingFor(settings, 'grantor', options)
  const { store, now, clock } = await openStore(settings, options.now)
  try {
    const limits = options.limits ?? ownLimits(settings, options.now)
    return await composeWith(settings, { ...options, ...(await composition), limits, store, now, clock, tracing: await opening })
  } catch (error) {
    await store.close()
    throw openFailure(error)
  }
}

type OnStore = ComposeOptions & {
  store: OpenedStore
  limits: RateLimit<Limited>
  tracing: Tracing | undefined
  composeOnStore: typeof composeOnStore
  clock: () => number
}

async function composeWith(
  settings: Settings<'serve' | 'start'>,
  { composeOnStore: compose, store, now, clock, logger, metrics, limits, tracing, development = false, tls }: OnStore,
) {
  const { isStopping, begin, seconds } = createDrain(settings.drainSeconds)
  // Reading the revision also synchronises the clock with the store's clock, if the store has one.
  await store.readRevision()
  // Before the first key is made, because it would have that algorithm.
  await checkSigning(settings, store)
  const callWith = tracing && traceChainCalls(tracing)
  const { contractWallets, check } = connectChains(settings.chains, { callWith, keyCheck: settings.keyCheck })
  await reportChainFaults(check, logger)
  const service = await compose(authServiceSettings(settings, { development }), {
    store: tracing ? await loadTracedStore(store, settings, tracing) : store,
    now,
    clock,
    logger,
    logAudit: createAuditLog(logger, auditEvents),
    limits,
    contractWallets,
    names: settings.ensNames ? connectNames(settings.chains, callWith) : null,
    look: lookOf(settings),
    metrics,
    tracing,
    isStopping,
    tls: tls?.options,
    certificateEndsAt: tls?.endsAt,
  })
  const background = startBackground(service.parts, { storeOutage: service.storeOutage, logger, metrics })
  const close = async () => {
    await service.close(background)
    await store.close()
    await tracing?.stop()
  }
  const { server, admin, noticeChanges } = service
  const servers = [server, ...(admin ? [admin.server] : [])]
  const drain = { seconds, begin: () => begin(servers.map((each) => each.server)) }
  return { server, adminServer: admin?.server, store, noticeChanges, close, drain }
}

async function loadTracedStore(
  store: OpenedStore,
  { databaseUrl }: Settings<'serve' | 'start'>,
  tracing: Tracing,
): Promise<OpenedStore> {
  const { traceStore } = await import('../../observability/traces/traced-store.ts')
  return traceStore(store, tracing, databaseUrl.kind === 'sqlite' ? 'sqlite' : 'postgresql')
}

/**
 * A wrong chain id is fatal. An endpoint that does not respond is only logged: it may recover, and ordinary wallets do not
 * need it.
 */
async function reportChainFaults(check: ConnectedChains['check'], logger: Logger): Promise<void> {
  for (const { kind, words } of await check()) {
    if (kind === 'wrong') throw new CommandError(`${words}; correct GRANTOR_CHAINS`)
    logger.warn({ problem: words }, 'chain unavailable')
  }
}

/** The login server: no store and no keys, only the auth service's address and the shared secret. */
export async function composeLoginServer(
  settings: Settings<'login-server' | 'start'>,
  {
    developmentWallet,
    isStopping,
    tls,
    ...runtime
  }: Runtime & {
    metrics?: Metrics | undefined
    developmentWallet?: DevelopmentWallet | undefined
    isStopping?: () => boolean
    tls?: Tls | undefined
  },
) {
  const { createLoginServer } = await import('../../http/login/server.ts')
  const { authUrl, loginUrl, loginSecret, trustedProxies, walletWindow, authBackendUrl: backendUrl } = settings
  const walletConnect = readWalletConnect(settings)
  const own = { authUrl, loginUrl, loginSecret, trustedProxies, walletWindow, walletConnect, backendUrl, look: lookOf(settings) }
  const tracing = await tracingFor(settings, 'grantor-login', runtime)
  const server = createLoginServer({ ...own, ...runtime, tracing, developmentWallet, isStopping, tls: tls?.options })
  if (tracing) server.addHook('onClose', () => tracing.stop())
  return server
}
