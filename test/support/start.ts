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
import { type AuthServiceSettings, composeOnStore } from '../../src/cli/compose/auth-service.ts'
import { connectChains } from '../../src/cli/compose/contract-wallets.ts'
import { authServiceSettings } from '../../src/cli/compose/service-settings.ts'
import type { Chain } from '../../src/config/chains.ts'
import { readSettings } from '../../src/config/settings.ts'
import { type ClientRegistration, registerClient } from '../../src/domain/clients/register-client.ts'
import type { Bounds } from '../../src/domain/maintenance/bounds.ts'
import { type AuditEvent, type Deps, LASTING_EVENTS, type Lifetimes, type ServiceSettings } from '../../src/domain/model/deps.ts'
import type { Client } from '../../src/domain/model/records.ts'
import type { Store } from '../../src/domain/model/store.ts'
import type { Limited } from '../../src/http/service.ts'
import { createLoginServer, type DevelopmentWallet } from '../../src/login-server/server.ts'
import { createAuditLog } from '../../src/ops/audit-log.ts'
import { createRateLimit } from '../../src/ops/rate-limit.ts'
import { migratePostgres, openPostgresStore, type PostgresAddress } from '../../src/store/postgres/index.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { freePorts } from './free-ports.ts'
import { TEST_CERTIFICATE } from './tls-certificate.ts'

export const TEST_SECRET = 'test-secret-that-wraps-the-keys-0123456789'
export const TEST_LOGIN_SECRET = 'test-login-secret-between-the-servers-01234'

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
  /** accept clients with metadata documents, also on this machine */
  clientMetadata?: boolean
  /** the environment of the settings, in addition */
  environment?: Record<string, string>
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

/** The settings of `grantor serve` with the defaults, as far as the test sets no others. */
function settingsOf(options: StartOptions, at: { authUrl: string; loginUrl: string; databasePath: string }): AuthServiceSettings {
  const reading = readSettings('serve', {
    GRANTOR_AUTH_URL: at.authUrl,
    GRANTOR_LOGIN_URL: at.loginUrl,
    GRANTOR_DATABASE_URL: `sqlite:${at.databasePath}`,
    GRANTOR_SECRET: options.secret ?? TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_LOGIN_SECRET_PREVIOUS: options.loginSecretPrevious,
    GRANTOR_TRUSTED_PROXIES: options.trustedProxies?.join(','),
    GRANTOR_CHAIN_IDS: '1,8453',
    GRANTOR_CLIENT_METADATA: options.clientMetadata ? 'on' : undefined,
    ...options.environment,
    GRANTOR_SCOPE_DESCRIPTIONS: JSON.stringify({
      enhancement: 'Use the enhancement features for you',
      profile: 'See your profile',
    }),
  })
  if (reading.kind === 'faults') throw new Error(reading.faults.join('\n'))
  const settings = authServiceSettings(reading.settings, { development: false })
  const lifetimes = { ...settings.service.lifetimes, ...options.lifetimes }
  return {
    ...settings,
    service: { ...settings.service, lifetimes, ...options.settings },
    keys: { ...settings.keys, lifetimes },
    bounds: { ...settings.bounds, ...options.bounds },
    // Clients of a test run on this machine.
    allowLoopback: true,
  }
}

/** The default lifetimes. */
export const LIFETIMES: Lifetimes = settingsOf(
  {},
  { authUrl: 'http://localhost:1', loginUrl: 'http://localhost:2', databasePath: 'unused.sqlite' },
).keys.lifetimes

/** Failures a minute as the test sets them; above the usual limit, all other limits are the same. */
function limitsOf({ failureLimit = 1000, limits = {} }: StartOptions): Record<Limited, number> {
  const usual = {
    sign_ins: 600,
    contract_checks: 60,
    wallet_checks: 30,
    pushes: 60,
    client_pushes: 6000,
    user_codes: 5,
    metadata_fetches: 30,
    registrations: 30,
  }
  const others = failureLimit > 1000 ? Object.fromEntries(Object.keys(usual).map((name) => [name, failureLimit])) : usual
  return { failures: failureLimit, ...(others as typeof usual), ...limits }
}

export async function startGrantor(options: StartOptions = {}): Promise<Grantor> {
  const clock = options.clock ?? new TestClock()
  const ports = options.ports ?? (await freePorts(2))
  const scheme = options.tls ? 'https' : 'http'
  const [authUrl, loginUrl] = [`${scheme}://localhost:${ports[0]}`, `${scheme}://localhost:${ports[1]}`]
  const folder = options.databasePath || options.postgres ? null : await mkdtemp(join(tmpdir(), 'grantor-test-'))
  const databasePath = options.databasePath ?? join(folder ?? '', 'grantor.sqlite')
  const store = await (options.postgres ? postgresStore(options.postgres, clock) : sqliteStore(databasePath, clock))

  const settings = settingsOf(options, { authUrl, loginUrl, databasePath })
  const events: AuditEvent[] = []
  const audit = options.logger && createAuditLog(options.logger, LASTING_EVENTS)
  const logLines: string[] = []
  const logger = options.logger ?? pino({ level: 'info' }, { write: (line: string) => void logLines.push(line) })
  const {
    server: authServer,
    deps,
    upkeep,
    bounds,
    deliveries,
  } = await composeOnStore(settings, {
    store,
    now: clock.now,
    logger,
    audit(event) {
      events.push(event)
      audit?.(event)
    },
    limits: createRateLimit<Limited>({ perMinute: limitsOf(options), now: clock.now }),
    contractWallets: connectChains(options.chains ?? []).contractWallets,
    tls: options.tls,
    ca: TEST_CERTIFICATE,
    // Retries follow at once: a test need not wait.
    noticePauses: [0, 0, 0],
  })
  const { noticeChanges } = upkeep

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
