/**
 * Starts the auth service and the login server in the test's own process, on free ports, with their own SQLite file and a clock that
 * only the test advances.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'
import { connectNames } from '../../src/app/compose/account-names.ts'
import { type AuthServiceSettings, composeOnStore } from '../../src/app/compose/auth-service.ts'
import { connectChains } from '../../src/app/compose/contract-wallets.ts'
import { LINE_LIMITS } from '../../src/app/compose/line-limits.ts'
import { authServiceSettings } from '../../src/app/compose/service-settings.ts'
import { traceChainCalls } from '../../src/app/compose/traced-calls.ts'
import type { Part } from '../../src/app/process/background.ts'
import type { Chain } from '../../src/config/chains.ts'
import { readSettings } from '../../src/config/settings.ts'
import type { WebhookSender } from '../../src/domain/audit/webhooks.ts'
import { type ClientRegistration, registerClient } from '../../src/domain/clients/register-client.ts'
import type { Bounds } from '../../src/domain/maintenance/bounds.ts'
import { type AuditEvent, auditEvents } from '../../src/domain/model/audit-events.ts'
import type { Deps, Lifetimes, ServiceSettings } from '../../src/domain/model/deps.ts'
import { wordsOf } from '../../src/domain/model/fault.ts'
import type { Client } from '../../src/domain/model/records.ts'
import type { Limited } from '../../src/http/auth/service.ts'
import { createLoginServer, type DevelopmentWallet, type WalletConnectOptions } from '../../src/http/login/server.ts'
import { createRateLimit } from '../../src/http/rate-limit.ts'
import { createAuditLog } from '../../src/observability/log/audit-log.ts'
import { createLogger, type Logger } from '../../src/observability/log/logger.ts'
import type { Metrics } from '../../src/observability/metrics/metrics.ts'
import type { Tracing } from '../../src/observability/metrics/tracing.ts'
import { traceStore } from '../../src/observability/traces/traced-store.ts'
import { defineLook, type LookValues } from '../../src/pages/look.ts'
import type { OpenedStore } from '../../src/store/cluster-health.ts'
import { unpack } from '../../src/store/packed.ts'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { TEST_CERTIFICATE } from './certificates.ts'
import { freePorts } from './free-ports.ts'
import { createPostgresDatabase } from './postgres.ts'
import { migratePostgres, openPostgresStore } from './postgres-database.ts'
import { allRows, type Rows } from './rows.ts'

export const TEST_SECRET = 'test-secret-that-wraps-the-keys-0123456789'
export const TEST_LOGIN_SECRET = 'test-login-secret-between-the-servers-01234'

/** A clock that only the test advances. */
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
  /** the page of a smart wallet's own window */
  walletWindow?: string
  /** the operator's look of the pages of both servers; that of Grantor if absent */
  look?: LookValues
  walletConnect?: WalletConnectOptions
  /** failures a minute, per network and client or challenge */
  failureLimit?: number
  /** the other limits; as high as `failureLimit` if that is above the usual 1,000 */
  limits?: Partial<Record<Limited, number>>
  trustedProxies?: string[]
  /** the admin API is on, at a port of its own */
  admin?: boolean
  /** accept clients with metadata documents, also on this machine */
  clientMetadata?: boolean
  /** the environment of the settings, in addition */
  environment?: Record<string, string>
  /** both servers speak TLS themselves, at https addresses */
  tls?: ServerOptions
  /** an existing SQLite file; if absent, a new file that is removed at the end */
  databasePath?: string
  /** a PostgreSQL database in place of SQLite, with the time of the database */
  postgres?: PostgresAddress
  /** the time of the PostgreSQL database is that of the test's clock */
  postgresClock?: 'given'
  clock?: TestClock
  ports?: number[]
  /** the maximum numbers of living grants and sessions */
  bounds?: Partial<Bounds>
  /** the home chain is called to check whether a key was switched off */
  keyCheck?: boolean
  /** the chains of contract wallets; none if absent */
  chains?: Chain[]
  /** show the ENS names of the chain with the id 1 */
  ensNames?: boolean
  /** whether addresses that clients and owners of names chose may be on this machine; true if absent */
  allowLoopback?: boolean
  /** another login server in place of the product's, as a platform may have; not listening yet */
  loginServer?: (at: { authUrl: string; loginUrl: string; loginSecret: string }) => FastifyInstance
  /** the logger of the product in place of a plain one, also for the audit log, for tests of the log */
  logger?: Logger
  /** the spans of both servers; none if absent */
  tracing?: Tracing
  /** counts what happens; not counted if absent */
  metrics?: Metrics
  /** the secret that wraps the keys, in place of `TEST_SECRET` */
  secret?: string
  /** the previous secret of the login server; none if absent */
  loginSecretPrevious?: string
}

/** An event as the log has it: with a shortened address, and with the id of its line in the audit trail. */
export type LoggedEvent = Omit<AuditEvent, 'wallet'> & { wallet?: string; audit_id?: string; alarm?: true }

export type TestClient = Client & { secret: string }

export type Grantor = {
  authUrl: string
  loginUrl: string
  /** the origin of the admin API; empty if it is off */
  adminUrl: string
  /** does the jobs of operators, as the service does once a second */
  workOnJobs(): Promise<void>
  workOnEndings(): Promise<void>
  authServer: FastifyInstance
  loginServer: FastifyInstance
  store: OpenedStore
  deps: Deps
  clock: TestClock
  databasePath: string
  /** the database of this test on Citus; undefined if the tests do not run there */
  onCitus: StartOptions['postgres']
  ports: number[]
  /** the events of the audit log, in order */
  events: LoggedEvent[]
  /** every line that either server has logged */
  logLines: string[]
  /** registers a client; `secret` is empty for a client without a secret */
  createClient(registration?: Partial<ClientRegistration>): Promise<TestClient>
  /** runs the work that the service does once a second */
  keepBounds(stopping?: AbortSignal): Promise<void>
  /** adds the counts of sign-ins and wallets to the store, as the service does once a minute */
  storeActivity(): Promise<void>
  /** stores the report of this node, if a minute began, as the service does every five seconds */
  report(): Promise<void>
  /** signs the head of the audit trail and deletes old lines, if that is due */
  keepTrail(): Promise<void>
  /** moves audit lines that wait outside of the chain, as the service does once a second */
  moveWaiting(): Promise<void>
  webhooks: WebhookSender
  /** reads the endings of the store for the feed, as the service does twice a second */
  renewFeed(): Promise<void>
  /** the number of responses of the feed that have not ended */
  feedReaders(): number
  /** the bytes that are in memory because readers of the feed have not received them */
  heldForReaders(): number
  /** every row of every table of the SQLite file, when the audit trail has the lines of all events so far */
  rows(): Promise<Rows>
  /** notices changes of other processes at once, which the service otherwise does within a second */
  noticeChanges(): Promise<void>
  close(): Promise<void>
}

type OpenDatabase = {
  store: OpenedStore
  /** empty if the rows are not in a SQLite file */
  databasePath: string
  /** of a new database on Citus */
  onCitus?: StartOptions['postgres']
  remove(): Promise<void>
}

/** Opens the database of the options. If they name none, opens a new SQLite file, or a new database on Citus if the tests run there. */
async function openDatabase({ postgres, postgresClock, databasePath }: StartOptions, clock: TestClock): Promise<OpenDatabase> {
  const given = { clock: 'given', now: clock.now } as const
  if (postgres) {
    await migratePostgres(postgres, clock.now())
    const store = await openPostgresStore(postgres, postgresClock && given)
    return { store, databasePath: '', remove: async () => undefined }
  }
  if (databasePath === undefined && process.env.TEST_ENGINE === 'citus') {
    const { address, drop } = await createPostgresDatabase()
    await migratePostgres(address, clock.now())
    return { store: await openPostgresStore(address, given), databasePath: '', onCitus: address, remove: drop }
  }
  const folder = databasePath === undefined ? await mkdtemp(join(tmpdir(), 'grantor-test-')) : null
  const path = databasePath ?? join(folder ?? '', 'grantor.sqlite')
  await migrateSqlite(path, clock.now())
  const remove = async () => void (folder && (await rm(folder, { recursive: true, force: true })))
  return { store: openSqliteStore(path, { now: clock.now }), databasePath: path, remove }
}

/** The settings of `grantor serve`: the defaults, with those that the test sets. */
function settingsOf(
  options: StartOptions,
  at: { authUrl: string; loginUrl: string; adminUrl?: string | undefined; databasePath: string },
): AuthServiceSettings {
  const reading = readSettings('serve', {
    GRANTOR_AUTH_URL: at.authUrl,
    GRANTOR_LOGIN_URL: at.loginUrl,
    GRANTOR_ADMIN_URL: at.adminUrl,
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
  const given = { ...settings.service.lifetimes, ...options.lifetimes }
  const { accessToken, refreshIdle, grant } = given
  const lifetimes = { ...given, longest: options.lifetimes?.longest ?? { accessToken, refreshIdle, grant } }
  return {
    ...settings,
    service: { ...settings.service, lifetimes, ...options.settings },
    keys: { ...settings.keys, lifetimes },
    bounds: { ...settings.bounds, ...options.bounds },
    // Clients of a test run on this machine.
    allowLoopback: options.allowLoopback ?? true,
  }
}

/** The default lifetimes. */
export const LIFETIMES: Lifetimes = settingsOf(
  {},
  { authUrl: 'http://localhost:1', loginUrl: 'http://localhost:2', databasePath: 'unused.sqlite' },
).keys.lifetimes

/** The limits of the test: `failureLimit` for failures. If it is above the usual limit, all other limits are equal to it. */
function limitsOf({ failureLimit = 1000, limits = {} }: StartOptions): Record<Limited, number> {
  const usual = {
    sign_ins: 600,
    // The clock of a test stands still, so all codes and all refusals of a test are of one minute.
    codes: 100_000,
    network_codes: 100_000,
    contract_checks: 60,
    wallet_checks: 30,
    pushes: 60,
    client_pushes: 6000,
    client_tokens: Number.POSITIVE_INFINITY,
    client_introspections: Number.POSITIVE_INFINITY,
    client_revocations: Number.POSITIVE_INFINITY,
    client_token_revocations: 6000,
    user_codes: 5,
    client_fetches: 30,
    host_fetches: 120,
    uses: 600,
    registrations: 30,
    refusal_pages: 100_000,
    feed_reads: 6000,
    ...LINE_LIMITS,
    network_lines: 6000,
  }
  const others = failureLimit > 1000 ? Object.fromEntries(Object.keys(usual).map((name) => [name, failureLimit])) : usual
  return { failures: failureLimit, ...(others as typeof usual), ...limits }
}

/** Runs the task of this name once. */
export async function runTask(parts: readonly Part[], name: string, stopping = new AbortController().signal): Promise<void> {
  const task = parts.flatMap(({ tasks = [] }) => tasks).find((each) => each.name === name)
  if (!task) throw new Error(`there is no task "${name}"`)
  await task.run(stopping)
}

export async function startGrantor(options: StartOptions = {}): Promise<Grantor> {
  const clock = options.clock ?? new TestClock()
  const ports = options.ports ?? (await freePorts(2))
  const scheme = options.tls ? 'https' : 'http'
  const [authUrl, loginUrl] = [`${scheme}://localhost:${ports[0]}`, `${scheme}://localhost:${ports[1]}`]
  const { store, databasePath, onCitus, remove } = await openDatabase(options, clock)

  const [adminPort] = options.admin ? await freePorts(1) : []
  const adminUrl = adminPort === undefined ? undefined : `${scheme}://localhost:${adminPort}`
  const settings = settingsOf(options, { authUrl, loginUrl, adminUrl, databasePath: databasePath || 'unused.sqlite' })
  const events: LoggedEvent[] = []
  const { tracing } = options
  const audit = options.logger && createAuditLog(options.logger, auditEvents)
  const logLines: string[] = []
  const look = defineLook(options.look ?? {})
  const destination = { write: (line: string) => void logLines.push(line) }
  const logger = options.logger ?? createLogger({ level: 'info', destination })
  const service = await composeOnStore(settings, {
    store: tracing ? traceStore(store, tracing, 'sqlite') : store,
    now: clock.now,
    logger,
    logAudit(event) {
      const { alarm } = auditEvents[event.event]
      events.push({ ...event, ...(alarm && { alarm }) })
      audit?.(event)
    },
    limits: createRateLimit<Limited>({ perMinute: limitsOf(options), now: clock.now }),
    contractWallets: connectChains(options.chains ?? [], {
      callWith: tracing && traceChainCalls(tracing),
      keyCheck: options.keyCheck,
    }).contractWallets,
    names: options.ensNames ? connectNames(options.chains ?? []) : null,
    look,
    metrics: options.metrics,
    tracing,
    tls: options.tls,
    ca: TEST_CERTIFICATE,
    // Retries follow at once, so a test does not wait.
    noticePauses: [0, 0, 0],
  })
  const { server: authServer, admin, deps, endings, webhooks } = service
  const task = (name: string) => (stopping?: AbortSignal) => runTask(service.parts, name, stopping)
  const noticeChanges = task('noticing changes')

  const at = { authUrl, loginUrl, loginSecret: TEST_LOGIN_SECRET }
  const { developmentWallet, walletWindow, walletConnect, tls } = options
  const loginServer =
    options.loginServer?.(at) ??
    createLoginServer({
      ...at,
      logger,
      look,
      tracing,
      trustedProxies: [],
      developmentWallet,
      walletWindow,
      walletConnect,
      now: clock.now,
      tls,
    })
  await authServer.listen({ host: '127.0.0.1', port: ports[0] ?? 0 })
  await loginServer.listen({ host: '127.0.0.1', port: ports[1] ?? 0 })
  if (admin && adminPort !== undefined) await admin.server.listen({ host: '127.0.0.1', port: adminPort })

  return {
    authUrl,
    loginUrl,
    adminUrl: adminUrl ?? '',
    workOnJobs: task('working on jobs'),
    workOnEndings: task('working on endings'),
    authServer,
    loginServer,
    store,
    deps,
    clock,
    databasePath,
    onCitus,
    ports,
    events,
    logLines,
    keepBounds: task('keeping bounds'),
    storeActivity: task('counting activity'),
    report: task('reporting'),
    renewFeed: task('reading endings'),
    feedReaders: () => endings.readers.count,
    heldForReaders: () => endings.feed.held.bytes,
    keepTrail: task('keeping the audit trail'),
    moveWaiting: task('moving waiting audit lines'),
    webhooks,
    async rows() {
      const ids = events.flatMap(({ audit_id }) => audit_id ?? [])
      await expect
        .poll(() => {
          const { audit_lines: lines = [] } = allRows(databasePath)
          const stored = new Set((lines as { id: Uint8Array }[]).map(({ id }) => unpack(id)))
          return ids.filter((id) => !stored.has(id))
        })
        .toEqual([])
      return allRows(databasePath)
    },
    noticeChanges,
    async createClient(registration = {}) {
      const registered = registerClient(
        { name: 'MyApp', type: 'confidential', redirectUris: ['https://app.example.net/callback'], ...registration },
        clock.now(),
      )
      if (registered.kind === 'faults') throw new Error(wordsOf(registered.faults).join(' '))
      await store.clients.insertClient(registered.client)
      await noticeChanges()
      return { ...registered.client, secret: registered.secret ?? '' }
    },
    async close() {
      await Promise.all([authServer.close(), loginServer.close(), admin?.server.close()])
      await service.close()
      await store.close()
      await remove()
    },
  }
}

/** Starts another node on the database of a service, with its clock and its URLs. */
export function startBeside(grantor: Grantor, options: StartOptions = {}): Promise<Grantor> {
  const { databasePath, onCitus, clock, authUrl, loginUrl } = grantor
  const settings = { authUrl, loginUrl, defaultResource: authUrl, ...options.settings }
  const database = onCitus ? { postgres: onCitus, postgresClock: 'given' as const } : { databasePath }
  return startGrantor({ ...database, clock, ...options, settings })
}
