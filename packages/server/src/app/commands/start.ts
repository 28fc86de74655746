import { extname, join, relative } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { ListenAddress } from '../../config/parsers.ts'
import type { Settings } from '../../config/settings.ts'
import type { Store } from '../../domain/model/store.ts'
import { readOperators, setOperator } from '../../domain/operators/operators.ts'
import { isDevelopmentHost } from '../../http/login/development-host.ts'
import type { Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import { type CommandEnvironment, defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { printFacts } from '../../operators/terminal/print.ts'
import { serviceOn } from '../compose/command-service.ts'
import { composeAuthService, composeLoginServer } from '../compose/compose.ts'
import { migrateDatabase } from '../compose/database.ts'
import {
  type DevelopmentStore,
  keepAddresses,
  MADE_SETTINGS,
  makeDevelopmentStore,
  withDevelopmentStore,
} from '../compose/development-store.ts'
import { settingsFor } from '../compose/settings.ts'
import { type Tls, tlsOf } from '../compose/tls.ts'
import { openFailure } from '../compose/with-store.ts'
import {
  createDemoApps,
  createDemoMcpServer,
  type Demo,
  type DemoAddresses,
  demoClients,
  MCP_SCOPES,
  registerDemoClients,
  registerDemoResources,
} from '../development/demo.ts'
import { developmentLog } from '../development/development-log.ts'
import type { FileClient } from '../development/file-records.ts'
import { lockFolder } from '../development/folder-lock.ts'
import { clientLines, type OwnApp, readOwnApp, registerOwnApp, runOwnApp } from '../development/own-app.ts'
import { limitGarbage } from '../process/engine.ts'
import { type Closable, catchStopSignals, shutDownOnSignals } from '../process/shutdown.ts'
import { allListening, type Listener, listen, promisifyServer } from '../serve/listen.ts'
import { closingInOrder, loggerFor, metricsFor } from '../serve/running.ts'

export const start = defineCommand({
  name: 'start',
  words:
    'Runs everything on this machine for development: both servers, a demo app, a demo API, a demo MCP server, and the admin API with its console.',
  about: [
    'It makes its own store and secrets in a folder that only you can read, offers well-known test accounts as a wallet (GRANTOR_DEV_WALLET=off turns that off), makes the first of them the owner of the console, and listens on 127.0.0.1 alone. Never expose it to a network: use grantor serve and grantor login-server for that.',
    'This command ignores addresses, store and secrets in the environment; all other settings apply.',
  ],
  options: {
    ports: {
      value: 'FIRST',
      words:
        'The first of six ports in a row: auth service, login server, demo app, demo API, demo MCP server, admin API and console. 4000 unless given.',
    },
    data: { value: 'DIR', words: 'The folder for store and secrets; ./data unless given.' },
    host: {
      value: 'NAME',
      words:
        'The host name of auth service and login server: localhost unless given, otherwise *.localhost, *.test or a loopback address. It must resolve to this machine. The servers use https if GRANTOR_TLS_CERT_FILE is set.',
    },
    file: {
      value: 'FILE',
      words:
        'Registers the clients and resources in this file, which is that of grantor apply, at every start. Their ids and secrets stay the same. Operators and webhooks in it are ignored.',
    },
    run: {
      value: 'COMMAND',
      words:
        'Runs your app beside Grantor, in a shell, with ISSUER, CLIENT_ID and CLIENT_SECRET of the first client of --file in its environment. Both end together.',
    },
  },
  examples: [
    'grantor start',
    'grantor start --ports 5000 --data ./other-data',
    "grantor start --file grantor.yaml --run 'node --watch server.js'",
  ],
  program: 'start',
  async run({ options }, environment) {
    const ports = portsFrom(options.ports ?? '4000')
    const app = readOwnApp(options)
    const folder = options.data ?? 'data'
    const made = makeDevelopmentStore(folder)
    const origins = originsFrom(options.host ?? 'localhost', ports, environment.env)
    const env = developmentSettings(environment.env, made, ports, origins)
    const settings = settingsFor('start', { env })
    for (const line of ignoredSettings(environment.env)) environment.print(line)
    const unlock = lockFolder(folder)
    const signal = catchStopSignals()
    try {
      const running = await runAll(settings, { made, app, folder }, ports, environment)
      keepAddresses(folder, env)
      const lines = app ? ownBanner(settings, running, ports, folder) : banner(settings, running, ports, folder)
      for (const line of lines) environment.print(line)
      return await runToEnd({ ...running, signal }, app, settings, environment)
    } finally {
      unlock()
    }
  },
})

/** Until a signal arrives, or until the program of --run ends. */
async function runToEnd(
  { close, logger, clients: [client], signal }: RunningStart & { signal: ReturnType<typeof catchStopSignals> },
  app: OwnApp | null,
  { authUrl: issuer }: Settings<'start'>,
  { env, printError }: CommandEnvironment,
): Promise<number> {
  if (!app?.command || !client) return shutDownOnSignals(close, { logger, signal })
  const program = runOwnApp(app.command, env, { issuer, client })
  let [isStopping, hasFailed] = [false, false]
  const closeBoth = async (): Promise<void> => {
    isStopping = true
    await program.stop()
    await close()
  }
  const stopRequested = program.ended.then((code) => {
    hasFailed = !isStopping && code !== 0
    if (hasFailed) printError(`The command of --run ended with code ${code}: ${app.command}`)
  })
  const exit = await shutDownOnSignals(closeBoth, { logger, signal, stopRequested })
  return hasFailed ? EXIT.failed : exit
}

function ignoredSettings(env: CommandEnvironment['env']): string[] {
  const names = MADE_SETTINGS.filter((name) => env[name])
  return names.length > 0 ? [`Set, but ignored by grantor start, which makes its own: ${names.join(', ')}`] : []
}

type Ports = { auth: number; login: number; app: number; api: number; mcp: number; admin: number }

function portsFrom(text: string): Ports {
  const first = /^\d{1,5}$/.test(text) ? Number(text) : 0
  // Ports below 1024 belong to the system. The origin of port 80 or 443 would have no port.
  if (first < 1024 || first > 65_530)
    throw new UsageError(`--ports must be a port from 1024 to 65530, the first of six, not "${text}"`)
  return { auth: first, login: first + 1, app: first + 2, api: first + 3, mcp: first + 4, admin: first + 5 }
}

type Origins = { authUrl: string; loginUrl: string; adminUrl: string }

/** The origins of the servers for browsers. The demo's programs are always on plain localhost. */
function originsFrom(host: string, ports: Ports, env: CommandEnvironment['env']): Origins {
  const scheme = env.GRANTOR_TLS_CERT_FILE ? 'https' : 'http'
  const origin = `${scheme}://${host}:${ports.auth}`
  const read = URL.canParse(origin) ? new URL(origin) : null
  if (read === null || read.host !== `${host}:${ports.auth}` || !isDevelopmentHost(read.hostname))
    throw new UsageError(`--host must be localhost, *.localhost, *.test or a loopback address, not "${host}"`)
  const originAt = (port: number): string => `${scheme}://${host}:${port}`
  return { authUrl: origin, loginUrl: originAt(ports.login), adminUrl: originAt(ports.admin) }
}

const url = (port: number): string => `http://localhost:${port}`
const mcpUrl = ({ mcp }: Ports): string => `${url(mcp)}/mcp`
/** Always this machine: a loopback address as it was given, 127.0.0.1 for every other name. */
function loopback(port: number, { hostname } = new URL('http://localhost')): ListenAddress {
  const named = /^\[?([\d.:]+)\]?$/.exec(hostname)?.[1]
  return { host: named ?? '127.0.0.1', port }
}

function developmentSettings(
  env: CommandEnvironment['env'],
  made: DevelopmentStore,
  ports: Ports,
  { authUrl, loginUrl, adminUrl }: Origins,
): Record<string, string | undefined> {
  return {
    ...withDevelopmentStore(env, made),
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: loginUrl,
    GRANTOR_ADMIN_URL: adminUrl,
    GRANTOR_ADMIN_LISTEN: undefined,
    GRANTOR_AUTH_BACKEND_URL: undefined,
    GRANTOR_DEFAULT_RESOURCE: env.GRANTOR_DEFAULT_RESOURCE || url(ports.api),
  }
}

type RunningStart = {
  demo: Demo
  /** those of --file */
  clients: FileClient[]
  /** packages that the demo MCP server needs and that are not installed */
  missing: string[]
  logger: Logger
  close: () => Promise<void>
}

/** Six servers in one process, each with its own listener; they communicate over HTTP, as separate processes would. */
async function runAll(
  settings: Settings<'start'>,
  { made, app, folder }: { made: DevelopmentStore; app: OwnApp | null; folder: string },
  ports: Ports,
  environment: CommandEnvironment,
): Promise<RunningStart> {
  const runtime = { logger: loggerFor(settings, developmentLog(environment.print)), now: () => environment.now() }
  const demo = demoClients(made)
  const addresses = demoAddresses(settings, ports)
  const opened = await openServers(settings, { demo, addresses, ...runtime })
  const listeners = listenersOf(opened, settings, ports)
  const servers = listeners.map(({ server }) => server)
  const close = closingInOrder(servers, opened.close)
  try {
    await allListening(listeners.map((each) => each.listen()))
    // Only after the ports are open: if another instance has the ports, its records must not change.
    await addRecords(opened.service.store, { settings, demo, addresses, at: runtime.now() })
    const service = serviceOn(opened.service.store, runtime.now, { environment, data: folder, settings, keys: null })
    const clients = app ? await registerOwnApp(app, service, made) : []
    await opened.service.noticeChanges()
    const missing = opened.mcp.kind === 'missing' ? opened.mcp.packages : []
    return { demo, clients, missing, logger: runtime.logger, close }
  } catch (error) {
    await close()
    throw error
  }
}

function demoAddresses({ authUrl, defaultResource }: Settings<'start'>, ports: Ports): DemoAddresses {
  return {
    authUrl,
    builderAppUrl: url(ports.app),
    resourceApiUrl: url(ports.api),
    resource: defaultResource,
    mcpUrl: mcpUrl(ports),
  }
}

type OpenOptions = { demo: Demo; addresses: DemoAddresses; logger: Logger; now: () => number }

/** The servers, which do not listen yet. `close` closes what they share, after the servers. */
async function openServers(settings: Settings<'start'>, { demo, addresses, logger, now }: OpenOptions) {
  const metrics = await metricsFor(settings.metricsListen)
  const tls = tlsOf(settings)
  if (tls) trustAlso(tls.cert)
  const [service, login, apps, mcp] = await Promise.all([
    openAuthService(settings, { logger, now, metrics: metrics?.metrics, tls }),
    openLoginServer(settings, { logger, now, metrics: metrics?.metrics, tls }),
    createDemoApps(demo, addresses, logger, now),
    createDemoMcpServer(demo, addresses, logger, now),
  ])
  const adminServers = service.adminServer ? [service.adminServer] : []
  const renewal = tls?.keep([service.server, login, ...adminServers], { logger, now })
  const close = async (): Promise<void> => {
    await renewal?.stop()
    await service.close()
  }
  return { service, adminServers, login, apps, mcp, metrics, close }
}

/** Each server with its port. If several ports are in use, the failure names the first of them. */
function listenersOf(opened: Awaited<ReturnType<typeof openServers>>, settings: Settings<'start'>, ports: Ports) {
  const { service, adminServers, login, apps, mcp, metrics } = opened
  const remedy = `change all six ports with: grantor start --ports ${ports.auth === 5000 ? 6000 : 5000}`
  const at = (server: Listener & Closable, address: ListenAddress, name: string) => ({
    server,
    listen: () => listen(server, address, name, remedy),
  })
  return [
    at(service.server, loopback(ports.auth, new URL(settings.authUrl)), 'auth service'),
    at(login, loopback(ports.login, new URL(settings.loginUrl)), 'login server'),
    at(apps.builderApp, loopback(ports.app), 'demo builder app'),
    at(apps.resourceApi, loopback(ports.api), 'demo resource API'),
    ...(mcp.kind === 'server' ? [at(promisifyServer(mcp.server), loopback(ports.mcp), 'demo MCP server')] : []),
    ...adminServers.map((server) => at(server, loopback(ports.admin, new URL(settings.authUrl)), 'admin API')),
    ...(metrics ? [metrics] : []),
  ]
}

type StartRecords = { settings: Settings<'start'>; demo: Demo; addresses: DemoAddresses; at: number }

async function addRecords(store: Store, { settings, demo, addresses, at }: StartRecords): Promise<void> {
  await registerDemoClients(store, demo, addresses, at)
  await registerDemoResources(store, addresses, settings.scopeDescriptions.enhancement ?? 'enhancement', at)
  await addFirstOperator(store, settings, at)
}

/** The servers call each other over HTTP, so they must trust a certificate that the developer made for this machine. */
function trustAlso(cert: string): void {
  setDefaultCACertificates([...getCACertificates('default'), cert])
}

type StartRuntime = { logger: Logger; now: () => number; tls: Tls | undefined }

async function openAuthService(
  settings: Settings<'start'>,
  { logger, ...runtime }: StartRuntime & { metrics: Metrics | undefined },
) {
  limitGarbage()
  try {
    await migrateDatabase(settings.databaseUrl, runtime.now())
  } catch (error) {
    throw openFailure(error)
  }
  return composeAuthService(settings, { ...runtime, logger: logger.child({ server: 'auth' }), development: true })
}

async function openLoginServer(
  settings: Settings<'start'>,
  { logger, ...runtime }: StartRuntime & { metrics: Metrics | undefined },
) {
  // Imported only here, so that no other program can have a development wallet.
  const { createDevelopmentWallet } = await import('../development/development-wallet.ts')
  const developmentWallet = settings.devWallet ? createDevelopmentWallet(settings) : undefined
  return composeLoginServer(settings, { ...runtime, logger: logger.child({ server: 'login' }), developmentWallet })
}

/** Makes the first test account the owner of a new store, so that a developer can open the console at once. Its private key is public. */
async function addFirstOperator(store: Store, settings: Settings<'start'>, at: number): Promise<void> {
  if (!settings.devWallet || (await readOperators(store)).length > 0) return
  const { createDevelopmentWallet } = await import('../development/development-wallet.ts')
  const [first] = createDevelopmentWallet(settings).accounts
  if (first) await setOperator(store, { id: first.address, role: 'owner', at })
}

function mcpClientFacts({ mcpClient }: Demo, ports: Ports): [string, string][] {
  return [
    ['client_id', mcpClient.id],
    ['redirect_uri', 'http://127.0.0.1/callback, with any port'],
    ['resource', mcpUrl(ports)],
    ['scope', MCP_SCOPES.join(' ')],
  ]
}

/**
 * The example has the extension of this file: `.ts` in a checkout, `.js` in the package. In a checkout, `npx node` is the project's Node 24: the
 * Node of the user's shell may be older, and not run TypeScript.
 */
function deviceCommand({ authUrl }: Settings<'start'>, { device }: Demo, ports: Ports): string {
  const extension = extname(import.meta.filename)
  const program = join(import.meta.dirname, `../../../demo/cli-device/index${extension}`)
  const node = extension === '.ts' ? 'npx node' : 'node'
  return `${node} ${relative(process.cwd(), program)} ${authUrl} ${device.id} ${url(ports.api)}/me`
}

/** With an app of the developer's own, the demo has one line. */
function ownBanner(settings: Settings<'start'>, { clients }: RunningStart, ports: Ports, folder: string): string[] {
  const [app] = clients
  const [redirectUri] = app?.redirectUris ?? []
  const signIn = settings.devWallet ? 'your wallet, or with a test account' : 'your wallet'
  return [
    '',
    `Grantor is ready. Open ${redirectUri ? new URL(redirectUri).origin : 'your app'}, and sign in with ${signIn}.`,
    '',
    ...clientLines(clients),
    'Grantor',
    ...printFacts([
      ['Issuer', settings.authUrl],
      ['Console', `${settings.adminUrl}/console`],
      ['What happens in a sign-in', url(ports.app)],
      ['Store and secrets', `${folder} (for development only)`],
    ]),
    '',
    'Ctrl-C stops everything. Events are logged below.',
    '',
  ]
}

function banner(settings: Settings<'start'>, { demo, missing }: RunningStart, ports: Ports, folder: string): string[] {
  const signIn = settings.devWallet ? 'your wallet, or with a test account' : 'your wallet'
  return [
    '',
    `Grantor is ready. Open ${url(ports.app)} first, and sign in with ${signIn}.`,
    '',
    ...printFacts([
      ['Demo builder app', url(ports.app)],
      ['Auth service', settings.authUrl],
      ['Login server', settings.loginUrl],
      ['Demo resource API', url(ports.api)],
      ['Console', `${settings.adminUrl}/console`],
      ['Demo MCP server', missing.length > 0 ? `not started; it needs: npm install ${missing.join(' ')}` : mcpUrl(ports)],
    ]),
    '',
    'The demo client',
    ...printFacts([
      ['client_id', demo.builderApp.id],
      ['client_secret', demo.builderApp.secret],
      ['redirect_uri', `${url(ports.app)}/callback`],
    ]),
    ...(missing.length > 0
      ? []
      : ['', 'A client for the demo MCP server, without a secret', ...printFacts(mcpClientFacts(demo, ports))]),
    '',
    'A sign-in on another device, from a command-line program',
    `  ${deviceCommand(settings, demo, ports)}`,
    ...(settings.devWallet
      ? ['', 'A token without a browser', `  npx grantor test-token --data ${folder} --curl ${url(ports.api)}/me`]
      : []),
    '',
    `Store and secrets: ${folder} (for development only). Register your own app: npx grantor clients create --data ${folder} --help`,
    ...(settings.devWallet
      ? ['The first test account is the owner of the console.']
      : [`The console needs an operator: npx grantor operators add 0xADDRESS --role owner --data ${folder}`]),
    'Ctrl-C stops everything. Events are logged below.',
    '',
  ]
}
