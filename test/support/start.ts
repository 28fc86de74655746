/**
 * The auth service and the login server in the test's own process, on free ports, with a SQLite file of their own and
 * a clock that stands still until the test moves it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import { connectChains } from '../../src/cli/compose/contract-wallets.ts'
import type { Chain } from '../../src/config/chains.ts'
import { logoutEvent, logoutNotices } from '../../src/domain/account/logout-notices.ts'
import { ClientDirectory } from '../../src/domain/clients/client-directory.ts'
import { ClientKeys } from '../../src/domain/clients/client-keys.ts'
import { type ClientRegistration, registerClient } from '../../src/domain/clients/register-client.ts'
import { type Bounds, createBoundKeeper } from '../../src/domain/maintenance/bounds.ts'
import { createUpkeep } from '../../src/domain/maintenance/upkeep.ts'
import { type AuditEvent, type Deps, LASTING_EVENTS, type Lifetimes, type ServiceSettings } from '../../src/domain/model/deps.ts'
import type { Client } from '../../src/domain/model/records.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { createAuthServer } from '../../src/http/server.ts'
import type { Limited } from '../../src/http/service.ts'
import { KeyRing } from '../../src/keys/key-ring.ts'
import { createKeyWrap } from '../../src/keys/key-wrap.ts'
import { createLoginServer, type DevelopmentWallet } from '../../src/login-server/server.ts'
import { createAuditLog } from '../../src/ops/audit-log.ts'
import { createDeliveries } from '../../src/ops/deliveries.ts'
import { createRateLimit } from '../../src/ops/rate-limit.ts'
import { createFetchFromClient } from '../../src/outbound/fetch-from-client.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress } from '../../src/store/postgres/index.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { freePorts } from './free-ports.ts'

export const TEST_SECRET = 'test-secret-that-wraps-the-keys-0123456789'
export const TEST_LOGIN_SECRET = 'test-login-secret-between-the-servers-01234'

export const LIFETIMES: Lifetimes = {
  accessToken: 600,
  code: 60,
  refreshIdle: 14 * 86_400,
  grant: 30 * 86_400,
  refreshRetryWindow: 60,
  refreshRetryWindowPublic: 10,
  sessionIdle: 12 * 3600,
  session: 14 * 86_400,
  contractGrace: 3600,
}

/** A clock that stands still. */
export class TestClock {
  at = Math.floor(Date.now() / 1000)
  readonly now = (): number => this.at
  advance(seconds: number): void {
    this.at += seconds
  }
}

export type StartOptions = {
  settings?: Partial<ServiceSettings>
  lifetimes?: Partial<Lifetimes>
  developmentWallet?: DevelopmentWallet
  /** failures a minute, per network and client or challenge */
  failureLimit?: number
  /** the other limits; as high as `failureLimit` if that is above the usual 1,000 */
  limits?: Partial<Record<Limited, number>>
  trustedProxies?: string[]
  /** both servers speak TLS themselves, at https addresses */
  tls?: ServerOptions
  /** an SQLite file to go on with; a fresh one, removed at the end, when absent */
  databasePath?: string
  /** a PostgreSQL database instead, which tells its own time */
  postgres?: PostgresAddress
  clock?: TestClock
  ports?: number[]
  /** how many grants and sessions may live at once */
  bounds?: Partial<Bounds>
  /** where contract wallets are asked; nowhere when absent */
  chains?: Chain[]
  /** a login server in place of ours, as a platform brings its own; not listening yet */
  loginServer?: (at: { authUrl: string; loginUrl: string; loginSecret: string }) => FastifyInstance
  /** the service's own logger in place of a plain one, for a look at what it writes; the audit log goes there too */
  logger?: Logger
  /** wraps the keys, in place of `TEST_SECRET` */
  secret?: string
  /** what the login server's secret was before; none when absent */
  loginSecretPrevious?: string
}

export type TestClient = Client & { secret: string }

export type Grantor = {
  authUrl: string
  loginUrl: string
  authServer: FastifyInstance
  loginServer: FastifyInstance
  store: Store
  deps: Deps
  clock: TestClock
  databasePath: string
  ports: number[]
  /** what the audit log says, in order */
  events: AuditEvent[]
  /** every line either server logged */
  logLines: string[]
  /** registers a client; `secret` is empty for one without */
  createClient(registration?: Partial<ClientRegistration>): Promise<TestClient>
  /** what the service does once a second, after its answers */
  keepBounds(): Promise<void>
  /** what another process's change would do within a second */
  noticeChanges(): Promise<void>
  close(): Promise<void>
}

async function sqliteStore(path: string, clock: TestClock): Promise<Store> {
  await migrateSqlite(path, clock.now())
  return openSqliteStore(path)
}

async function postgresStore(address: PostgresAddress, clock: TestClock): Promise<Store> {
  await migratePostgres(address, clock.now())
  return openPostgresStore(address)
}

export async function startGrantor(options: StartOptions = {}): Promise<Grantor> {
  const clock = options.clock ?? new TestClock()
  const ports = options.ports ?? (await freePorts(2))
  const scheme = options.tls ? 'https' : 'http'
  const [authUrl, loginUrl] = [`${scheme}://localhost:${ports[0]}`, `${scheme}://localhost:${ports[1]}`]
  const folder = options.databasePath || options.postgres ? null : await mkdtemp(join(tmpdir(), 'grantor-test-'))
  const databasePath = options.databasePath ?? join(folder ?? '', 'grantor.sqlite')
  const store = await (options.postgres ? postgresStore(options.postgres, clock) : sqliteStore(databasePath, clock))

  const lifetimes = { ...LIFETIMES, ...options.lifetimes }
  const settings: ServiceSettings = {
    authUrl,
    loginUrl,
    defaultResource: authUrl,
    chainIds: [1, 8453],
    loginMayVouch: false,
    dpopNonce: false,
    scopeDescriptions: { enhancement: 'Use the enhancement features for you', profile: 'See your profile' },
    lifetimes,
    ...options.settings,
  }
  const keys = new KeyRing(clock.now)
  const keeping = {
    book: store.keys,
    wrap: createKeyWrap(options.secret ?? TEST_SECRET),
    signingAlgorithm: 'ES256' as const,
    rotateAfter: 90 * 86_400,
    lifetimes,
    now: clock.now,
  }
  const clients = new ClientDirectory(store, clock.now)
  const { noticeChanges } = createUpkeep(store, clients, keys, keeping)
  await noticeChanges()
  const events: AuditEvent[] = []
  const audit = options.logger && createAuditLog(options.logger, LASTING_EVENTS)
  const note = (event: AuditEvent): void => {
    events.push(event)
    audit?.(event)
  }
  const { contractWallets } = connectChains(options.chains ?? [])
  // As `grantor start` has it: clients of a test run on this machine.
  const fetchFromClient = createFetchFromClient({ allowLoopback: true })
  // Tried again at once: a test need not wait.
  const deliveries = createDeliveries({ call: fetchFromClient, note: (outcome) => note(logoutEvent(outcome)), pauses: [0, 0, 0] })
  const announceEnded: Deps['announceEnded'] = (ended) => deliveries.add(() => logoutNotices(deps, ended))
  const atMost = { grantsPerWalletAndClient: 100, sessionsPerWallet: 200, ...options.bounds }
  const bounds = createBoundKeeper({ store, now: clock.now, audit: note, announceEnded }, atMost)
  const deps: Deps = {
    contractWallets,
    store,
    clients,
    keys,
    clientKeys: new ClientKeys(fetchFromClient, clock.now),
    fetchFromClient,
    settings,
    now: clock.now,
    announceEnded,
    bounds,
    audit: note,
  }

  const logLines: string[] = []
  const logger = options.logger ?? pino({ level: 'info' }, { write: (line: string) => void logLines.push(line) })
  const { failureLimit = 1000, limits = {} } = options
  const usual = { sign_ins: 600, contract_checks: 60, wallet_checks: 30, pushes: 60, client_pushes: 6000 }
  const high = {
    sign_ins: failureLimit,
    contract_checks: failureLimit,
    wallet_checks: failureLimit,
    pushes: failureLimit,
    client_pushes: failureLimit,
  }
  const perMinute = { failures: failureLimit, ...(failureLimit > 1000 ? high : usual), ...limits }
  const authServer = createAuthServer({
    deps,
    loginSecrets: [TEST_LOGIN_SECRET, ...(options.loginSecretPrevious ? [options.loginSecretPrevious] : [])],
    limits: createRateLimit<Limited>({ perMinute, now: clock.now }),
    logger,
    trustedProxies: options.trustedProxies ?? [],
    tls: options.tls,
  })
  const at = { authUrl, loginUrl, loginSecret: TEST_LOGIN_SECRET }
  const { developmentWallet, tls } = options
  const loginServer =
    options.loginServer?.(at) ?? createLoginServer({ ...at, logger, trustedProxies: [], developmentWallet, now: clock.now, tls })
  await authServer.listen({ host: '127.0.0.1', port: ports[0] ?? 0 })
  await loginServer.listen({ host: '127.0.0.1', port: ports[1] ?? 0 })

  return {
    authUrl,
    loginUrl,
    authServer,
    loginServer,
    store,
    deps,
    clock,
    databasePath,
    ports,
    events,
    logLines,
    keepBounds: bounds.keep,
    noticeChanges,
    async createClient(registration = {}) {
      const registered = registerClient(
        { name: 'MyApp', type: 'confidential', redirectUris: ['https://app.example.net/callback'], ...registration },
        clock.now(),
      )
      if (registered.kind === 'faults') throw new Error(registered.faults.join(' '))
      await store.clients.insertClient(registered.client)
      await noticeChanges()
      return { ...registered.client, secret: registered.secret ?? '' }
    },
    async close() {
      await Promise.all([authServer.close(), loginServer.close(), deliveries.stop()])
      await store.close()
      if (folder) await rm(folder, { recursive: true, force: true })
    },
  }
}
