/**
 * Composes the real adapters and the domain; no other file does. The HTTP servers are imported only when a server is
 * composed, so that the operator's commands start without them.
 */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Settings } from '../../config/settings.ts'
import { logoutEvent, logoutNotices } from '../../domain/account/logout-notices.ts'
import { ClientDirectory } from '../../domain/clients/client-directory.ts'
import { ClientKeys } from '../../domain/clients/client-keys.ts'
import { auditKeys } from '../../domain/maintenance/audited-keys.ts'
import { type BoundKeeper, createBoundKeeper } from '../../domain/maintenance/bounds.ts'
import { createSweeper, SWEEP_EVERY } from '../../domain/maintenance/clean-up.ts'
import { type KeyKeeping, loadKeys, WrongKeyEncryptionKey } from '../../domain/maintenance/keep-keys.ts'
import { createUpkeep, type Upkeep } from '../../domain/maintenance/upkeep.ts'
import { type Deps, LASTING_EVENTS, type Lifetimes, type ServiceSettings } from '../../domain/model/deps.ts'
import { type Store } from '../../domain/model/store.ts'
import { createStoreClock, type StoreClock } from '../../domain/model/store-clock.ts'
import { SchemaMismatch, StoreUnavailable } from '../../domain/model/store-errors.ts'
import type { createAuthServer } from '../../http/server.ts'
import type { Limited } from '../../http/service.ts'
import { KeyRing } from '../../keys/key-ring.ts'
import { createKeyWrap } from '../../keys/key-wrap.ts'
import type { DevelopmentWallet } from '../../login-server/server.ts'
import { createAuditLog } from '../../ops/audit-log.ts'
import { type Background, repeatEvery } from '../../ops/background.ts'
import { createDeliveries } from '../../ops/deliveries.ts'
import { createDrain } from '../../ops/drain.ts'
import type { Logger } from '../../ops/logger.ts'
import { createMachineWatch } from '../../ops/machine-watch.ts'
import type { Metrics } from '../../ops/metrics.ts'
import type { RateLimit } from '../../ops/rate-limit.ts'
import { createFetchFromClient } from '../../outbound/fetch-from-client.ts'
import { type CommandEnvironment, CommandError } from '../terminal/command.ts'
import { checkSigning } from './check-signing.ts'
import { type ConnectedChains, connectChains } from './contract-wallets.ts'
import { openDatabase } from './database.ts'
import { ownLimits } from './rate-limits.ts'
import type { Tls } from './tls.ts'

type Runtime = { logger: Logger; now: () => number }
type OptionalParts = {
  metrics?: Metrics | undefined
  /** the rate limits; if absent, this process counts by itself */
  limits?: RateLimit<Limited> | undefined
}

/**
 * Composes the auth service with its store; `server` does not listen yet. Call `drain` before the server is closed and
 * `close` after.
 */
export async function composeAuthService(settings: Settings<'serve' | 'start'>, options: AuthServiceOptions) {
  const serverModule = import('../../http/server.ts')
  const clock = storeClock(options.now)
  const store = await openStore(settings, clock)
  try {
    const limits = options.limits ?? ownLimits(settings, options.now)
    return await composeOnStore(settings, { ...options, limits, now: clock.now, store, serverModule })
  } catch (error) {
    await store.close()
    throw failureOf(error)
  }
}

type AuthServiceOptions = Runtime & OptionalParts & { development?: boolean; tls?: Tls | undefined }
type OnStore = AuthServiceOptions & {
  store: Store
  limits: RateLimit<Limited>
  serverModule: Promise<{ createAuthServer: typeof createAuthServer }>
}

async function composeOnStore(settings: Settings<'serve' | 'start'>, options: OnStore) {
  const { store, now, logger, metrics, limits, development = false, tls, serverModule } = options
  const { isStopping, begin, seconds } = createDrain(settings.drainSeconds)
  // Reading the revision also synchronises the clock with the store's clock, if the store has one.
  await store.readRevision()
  const keys = new KeyRing(now)
  const clients = new ClientDirectory(store, now)
  const audit = createAuditLog(logger, LASTING_EVENTS)
  const keeping = keyKeeping(settings, { keys: auditKeys(store.keys, audit) }, now)
  const upkeep = createUpkeep(store, clients, keys, keeping)
  // Before the first key is made, because it would have that algorithm.
  await checkSigning(settings, store)
  await upkeep.noticeChanges()
  const { contractWallets, check } = connectChains(settings.chains)
  await reportChainFaults(check, logger)
  const fetchFromClient = createFetchFromClient({ allowLoopback: development })
  const deliveries = createDeliveries({ call: fetchFromClient, note: (outcome) => audit(logoutEvent(outcome)) })
  const http = await serverModule
  const announceEnded: Deps['announceEnded'] = (ended) => deliveries.add(() => logoutNotices(deps, ended))
  const bounds = createBoundKeeper({ store, now, audit, announceEnded }, settings)
  const deps: Deps = {
    store,
    clients,
    keys,
    clientKeys: new ClientKeys(fetchFromClient, now),
    fetchFromClient,
    settings: serviceSettings(settings, development),
    contractWallets,
    now,
    announceEnded,
    bounds,
    audit,
  }
  const server = http.createAuthServer({
    deps,
    loginSecrets: [settings.loginSecret, settings.loginSecretPrevious].filter((secret) => secret !== undefined),
    limits,
    metrics,
    logger,
    trustedProxies: settings.trustedProxies,
    isStopping,
    tls: tls?.options,
  })
  const background = startBackground({ settings, store, now, upkeep, bounds, logger, metrics })
  const close = async () => {
    await Promise.all([...background, deliveries].map((each) => each.stop()))
    await store.close()
  }
  return { server, store, close, drain: { seconds, begin: () => begin([server.server]) } }
}

/** The tasks that a node repeats beside its requests. */
function startBackground({ settings, store, now, upkeep, bounds, logger, metrics }: BackgroundParts): Background[] {
  const sweep = createSweeper({
    cleaning: store.cleaning,
    lifetimes: lifetimes(settings),
    now,
    pause: (milliseconds) => pauseFor(milliseconds),
    note(kind, rows) {
      metrics?.countSwept(kind, rows)
      logger.info({ kind, rows }, 'cleaned')
    },
  })
  return [
    repeatEvery(0.5, 'noticing changes', upkeep.noticeChanges, logger),
    repeatEvery(60, 'keeping keys', upkeep.keepKeys, logger),
    repeatEvery(1, 'keeping bounds', bounds.keep, logger),
    repeatEvery(SWEEP_EVERY, 'cleaning', sweep, logger),
    repeatEvery(1, 'noticing machines', createMachineWatch({ store, logger, metrics }), logger),
  ]
}

type BackgroundParts = {
  settings: Settings<'serve' | 'start'>
  store: Store
  now: () => number
  upkeep: Upkeep
  bounds: BoundKeeper
  logger: Logger
  metrics: Metrics | undefined
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
  }: Runtime & { developmentWallet?: DevelopmentWallet | undefined; isStopping?: () => boolean; tls?: Tls | undefined },
) {
  const { createLoginServer } = await import('../../login-server/server.ts')
  const { authUrl, loginUrl, loginSecret, trustedProxies, authBackendUrl: backendUrl } = settings
  const own = { authUrl, loginUrl, loginSecret, trustedProxies, backendUrl }
  return createLoginServer({ ...own, ...runtime, developmentWallet, isStopping, tls: tls?.options })
}

function serviceSettings(settings: Settings<'serve' | 'start'>, development: boolean): ServiceSettings {
  const { authUrl, loginUrl, defaultResource, chainIds, dpopNonce, scopeDescriptions } = settings
  // The development login accepts any address; its login server runs in the same process.
  const loginMayVouch = settings.loginMayVouch || (development && settings.devWallet !== false)
  const facts = { authUrl, loginUrl, defaultResource, chainIds, loginMayVouch, dpopNonce, scopeDescriptions }
  return { ...facts, lifetimes: lifetimes(settings) }
}

/** A missing, older or newer database becomes one line with the remedy. */
async function openStore({ databaseUrl }: Pick<Settings<'migrate'>, 'databaseUrl'>, clock: StoreClock): Promise<Store> {
  try {
    return await openDatabase(databaseUrl, clock)
  } catch (error) {
    throw failureOf(error)
  }
}

/** For a command: opens the store, uses it with the store's time, and closes it, also after an error. */
export async function withStore<Result>(
  settings: Pick<Settings<'migrate'>, 'databaseUrl'>,
  environment: Pick<CommandEnvironment, 'now'>,
  use: (store: Store, now: () => number) => Promise<Result>,
): Promise<Result> {
  const clock = storeClock(() => environment.now())
  const store = await openStore(settings, clock)
  try {
    // Reading the revision also synchronises the clock with the store's clock, if the store has one.
    await store.readRevision()
    return await use(store, clock.now)
  } catch (error) {
    throw failureOf(error)
  } finally {
    await store.close()
  }
}

function storeClock(own: () => number): StoreClock {
  return createStoreClock(own, () => performance.now() / 1000)
}

/** How keys are kept, from the settings of the program that keeps them. */
export function keyKeeping(settings: Settings<'keys'>, store: Pick<Store, 'keys'>, now: () => number): KeyKeeping {
  return {
    book: store.keys,
    wrap: createKeyWrap(settings.secret, settings.secretPrevious),
    signingAlgorithm: settings.signingAlg,
    rotateAfter: settings.keyRotationDays * 86_400,
    lifetimes: lifetimes(settings),
    now,
  }
}

/**
 * Throws if the secret is not the secret of the stored keys: a key that is wrapped with another secret would prevent
 * every node from starting.
 */
export async function checkSecret(keeping: KeyKeeping): Promise<void> {
  await loadKeys(keeping, new KeyRing(keeping.now))
}

function lifetimes(settings: Settings<'keys'>): Lifetimes {
  return {
    accessToken: settings.accessTokenLifetime,
    code: settings.codeLifetime,
    refreshIdle: settings.refreshIdleLifetime,
    grant: settings.refreshLifetime,
    refreshRetryWindow: settings.refreshRetryWindow,
    refreshRetryWindowPublic: settings.refreshRetryWindowPublic,
    sessionIdle: settings.sessionIdleLifetime,
    session: settings.sessionLifetime,
    contractGrace: settings.contractGrace,
  }
}

/** Turns an error that the operator can correct into one line; returns any other error unchanged. */
export function failureOf(error: unknown): unknown {
  if (error instanceof SchemaMismatch) return new CommandError(error.message)
  if (error instanceof WrongKeyEncryptionKey)
    return new CommandError(
      'the keys in this database were made with another GRANTOR_SECRET; set that secret, or name it in GRANTOR_SECRET_PREVIOUS',
    )
  if (error instanceof StoreUnavailable) return new CommandError(`the database cannot be used: ${error.message}`)
  return error
}
