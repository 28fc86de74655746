/** Composes the auth service and the login server as `grantor start` does, with a clock that a test moves and faults that a test orders. */

import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import {
  allListening,
  type Configuration,
  closeServers,
  composeAuthService,
  composeLoginServer,
  type DevelopmentWallet,
  listen,
  loggerFor,
  MADE_SETTINGS,
  migrateDatabase,
  requestToken,
  type Settings,
  serviceOn,
  settingsFor,
  UsageError,
} from 'grantor/private'
import { createTestClock, type TestClock } from './clock.ts'
import { createControl } from './control.ts'
import { makeDatabaseFolder } from './database-folder.ts'
import { requireDevelopment } from './development-only.ts'
import { createFaults, EXEMPT_HEADER } from './faults.ts'
import { freePorts } from './free-ports.ts'
import { addRecords, configurationOf, findClient, USUAL_CLIENT } from './records.ts'
import type { TestGrantor, TestGrantorOptions } from './test-grantor.ts'
import { findWallet, type TestWallet, testWallets } from './wallets.ts'

/** What only the command sets. */
export type Placement = {
  /** the address to listen on */
  host?: string
  /** the host name in the URLs of the issuer */
  name?: string
  /** the environment of the issuer, which refuses to run in a production environment; that of the process unless given */
  env?: Readonly<Record<string, string | undefined>>
  /** opens the control endpoint, on the third port */
  control?: boolean
  /** the configuration in place of `clients` and `resources` */
  configuration?: Configuration
}

type Prepared = Required<Pick<Placement, 'host' | 'name'>> & {
  options: TestGrantorOptions
  placement: Placement
  configuration: Configuration
  wallets: TestWallet[]
  clock: TestClock
}

const ATTEMPTS = 5
/** The issuer uses this port and the next two. */
const LAST_FIRST_PORT = 65_533

/** The settings that a test issuer makes itself. */
export const FIXED_SETTINGS: readonly string[] = [
  ...MADE_SETTINGS,
  'GRANTOR_TLS_CERT_FILE',
  'GRANTOR_TLS_KEY_FILE',
  'GRANTOR_DEV_WALLET',
]

/**
 * Starts a Grantor for tests in this process, on free ports of 127.0.0.1: the real auth service and login server, with an empty database.
 *
 * @example
 * await using grantor = await startTestGrantor({ clients: [{ name: 'My app', redirect_uris: ['http://localhost:3000/callback'] }] })
 * const { access_token } = await grantor.tokenFor()
 */
export function startTestGrantor(options: TestGrantorOptions = {}): Promise<TestGrantor> {
  return startTestIssuer(options, {})
}

/** The same at a place that the command chose. */
export async function startTestIssuer(options: TestGrantorOptions, placement: Placement): Promise<TestGrantor> {
  const { clients = [USUAL_CLIENT], resources = [] } = options
  const { host = '127.0.0.1', name = 'localhost' } = placement
  const { port = 1 } = options
  if (!Number.isSafeInteger(port) || port < 1 || port > LAST_FIRST_PORT)
    throw new UsageError(`the first port must be from 1 to ${LAST_FIRST_PORT}`)
  // oxlint-disable-next-line eslint/no-restricted-properties -- this module runs in the process of a test, and checks that environment
  requireDevelopment({ host, name, env: placement.env ?? process.env })
  const prepared: Prepared = {
    host,
    name,
    options,
    placement,
    configuration: placement.configuration ?? configurationOf(clients, resources),
    wallets: testWallets(options.wallets),
    clock: createTestClock(options.now),
  }
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await startOn(await portsOf(options, host), prepared)
    } catch (error) {
      const isTaken = (error as Error).message.includes('is in use')
      if (!isTaken || options.port !== undefined || left === 1) throw error
    }
  }
}

type Ports = readonly [auth: number, login: number, control: number]

async function portsOf({ port }: TestGrantorOptions, host: string): Promise<Ports> {
  if (port !== undefined) return [port, port + 1, port + 2]
  const [auth = 0, login = 0, control = 0] = await freePorts(host, 3)
  return [auth, login, control]
}

async function startOn(ports: Ports, prepared: Prepared): Promise<TestGrantor> {
  const folder = makeDatabaseFolder()
  const stopping = new AbortController()
  try {
    const settings = settingsOf(prepared, ports, folder.path)
    const opened = await openServers(settings, prepared, stopping.signal)
    const close = async (): Promise<void> => {
      stopping.abort()
      await closeServers(opened.servers)
      await opened.service.close()
    }
    try {
      return await serve(ports, prepared, { ...opened, settings, stop: once(() => close().finally(folder.remove)) })
    } catch (error) {
      await close()
      throw error
    }
  } catch (error) {
    folder.remove()
    throw error
  }
}

function settingsOf({ host, name, options }: Prepared, [auth, login]: Ports, folder: string): Settings<'start'> {
  const { settings: given = {} } = options
  const fixed = FIXED_SETTINGS.filter((setting) => Object.hasOwn(given, setting))
  if (fixed.length > 0) throw new UsageError(`the test issuer makes ${fixed.join(', ')} itself: remove them from settings`)
  const own = {
    GRANTOR_AUTH_URL: `http://${name}:${auth}`,
    GRANTOR_LOGIN_URL: `http://${name}:${login}`,
    GRANTOR_AUTH_BACKEND_URL: `http://${inUrl(reachable(host))}:${auth}`,
    GRANTOR_DATABASE_URL: `sqlite:${folder}/grantor.sqlite`,
    GRANTOR_SECRET: randomBytes(32).toString('base64url'),
    GRANTOR_LOGIN_SECRET: randomBytes(32).toString('base64url'),
    // Every login needs a signature: with the development wallet of `grantor start`, the login server could vouch for an address.
    GRANTOR_DEV_WALLET: 'off',
  }
  const usual = { GRANTOR_RATE_LIMIT: 'off', GRANTOR_LOG_LEVEL: options.log ? 'info' : 'silent' }
  return settingsFor('start', { env: { ...usual, ...given, ...own } })
}

/** The address of a listener for this process itself. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

async function openServers(settings: Settings<'start'>, { options, wallets, clock }: Prepared, stopping: AbortSignal) {
  const logger = loggerFor(settings, { write: options.log ?? (() => undefined) })
  const exemption = randomBytes(32).toString('base64url')
  const { faults, addTo } = createFaults({ exemption, stopping })
  await migrateDatabase(settings.databaseUrl, clock.now())
  const service = await composeAuthService(settings, { logger, now: clock.now, development: true })
  const login = await composeLoginServer(settings, { logger, now: clock.now, developmentWallet: formWallet(wallets) })
  const servers: FastifyInstance[] = [service.server, login]
  for (const server of servers) addTo(server)
  return { service, servers, faults, exemption }
}

/** For browsers without a wallet: the plain forms of the login page sign with the wallets of the issuer. */
function formWallet(wallets: readonly TestWallet[]): DevelopmentWallet {
  return {
    accounts: wallets.map(({ address }, index) => ({ address, label: `Test account ${index + 1}` })),
    sign: async (address, message) => findWallet(wallets, address).sign(message),
  }
}

type Opened = Awaited<ReturnType<typeof openServers>> & { settings: Settings<'start'>; stop: () => Promise<void> }

async function serve(ports: Ports, prepared: Prepared, opened: Opened): Promise<TestGrantor> {
  const { host, name, placement, configuration, wallets, clock } = prepared
  const { service, servers, settings, faults, exemption, stop } = opened
  const { authUrl: issuer, loginUrl } = settings
  const clients = await addRecords(configuration, serviceOf(opened, clock))
  await service.noticeChanges()
  const grantor: TestGrantor = {
    issuer,
    loginUrl,
    controlUrl: placement.control ? `http://${name}:${ports[2]}` : null,
    clients,
    client: (wanted) => findClient(clients, wanted),
    wallets,
    clock,
    faults,
    tokenFor: ({ wallet, client, scope, resource } = {}) => {
      const chosen = { wallet: findWallet(wallets, wallet).address, client: findClient(clients, client) }
      const headers = { [EXEMPT_HEADER]: exemption }
      return requestToken({ address: reachable(host), issuer, loginUrl, headers, ...chosen, scope, resource })
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
  if (placement.control) servers.push(createControl(grantor))
  const names = ['auth service', 'login server', 'control endpoint'] as const
  const remedy = 'choose three free ports in a row with --port'
  await allListening(
    servers.map((server, index) => listen(server, { host, port: ports[index] ?? 0 }, names[index] ?? '', remedy)),
  )
  return grantor
}

/** The service of the operations, for the plan of the clients and resources. */
function serviceOf({ service: { store }, settings }: Opened, clock: TestClock) {
  const environment = { env: {}, print: () => undefined, printError: () => undefined, now: clock.now }
  return serviceOn(store, clock.now, { environment, data: '', settings, keys: null })
}

/** The first call stops. Further calls wait for the same end. */
function once(stop: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined
  return () => (stopped ??= stop())
}
