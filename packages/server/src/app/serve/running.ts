/** The common parts of the long-running programs: their log, their metrics, and the order of their shutdown. */
import type { ListenAddress } from '../../config/parsers.ts'
import { type Settings, secretsOf } from '../../config/settings.ts'
import type { Limited } from '../../http/auth/service.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { createLogger, type Logger } from '../../observability/log/logger.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import { composeAuthService } from '../compose/compose.ts'
import { tlsOf } from '../compose/tls.ts'
import { limitGarbage } from '../process/engine.ts'
import { type Closable, closeServers } from '../process/shutdown.ts'
import { allListening, type Listener, listen, promisifyServer } from './listen.ts'
import { listenOnPassed } from './passed-socket.ts'

export function loggerFor(settings: Settings, destination?: { write(line: string): void }): Logger {
  return createLogger({ level: settings.logLevel, secrets: secretsOf(settings), ...(destination ? { destination } : {}) })
}

/**
 * Metrics and their server, which does not listen yet; undefined if metrics are off, and then prom-client is not loaded. `setting` is the name of
 * the setting with the address.
 */
export async function metricsFor(address: ListenAddress | undefined, setting = 'GRANTOR_METRICS_LISTEN') {
  if (!address) return undefined
  const [{ createMetrics }, { createMetricsServer }] = await Promise.all([
    import('../../observability/metrics/metrics.ts'),
    import('../../http/metrics-server.ts'),
  ])
  const metrics = createMetrics()
  const server = promisifyServer(createMetricsServer(metrics))
  return { metrics, server, listen: () => listen(server, address, 'metrics', `set ${setting}`) }
}

/** Opens the listener of a server: on the socket that systemd passed, if `descriptor` names one. Returns the address. */
export async function openListener(
  listener: Listener,
  { address, descriptor, who, setting }: { address: ListenAddress; descriptor: number | undefined; who: string; setting: string },
): Promise<ListenAddress> {
  if (descriptor !== undefined) return listenOnPassed(listener, descriptor, who)
  await listen(listener, address, who, `set ${setting}`)
  return address
}

/** Closes the servers first, all together, and their dependencies after the last response. */
export function closingInOrder(servers: readonly Closable[], then: () => Promise<void> = async () => {}): () => Promise<void> {
  return async () => {
    await closeServers(servers)
    await then()
  }
}

type RunOptions = {
  logger: Logger
  now: () => number
  metrics?: Metrics | undefined
  /** if absent, its own limits */
  limits?: RateLimit<Limited> | undefined
  /** opened and closed together with the auth service */
  metricsListener?: { server: Closable; listen(): Promise<void> } | undefined
  /** of the socket that systemd passed; if absent, the service listens on GRANTOR_LISTEN */
  descriptor?: number | undefined
}

/**
 * Composes the auth service of one process and opens its listener. If a listener cannot be opened, everything is closed
 * again.
 */
export async function openAuthService(settings: Settings<'serve'>, { metricsListener, descriptor, ...options }: RunOptions) {
  limitGarbage()
  const tls = tlsOf(settings)
  const service = await composeAuthService(settings, { ...options, tls })
  const { server, adminServer } = service
  const servers = [server, ...(adminServer ? [adminServer] : [])]
  const renewal = tls?.keep(servers, options)
  const close = closingInOrder([...(metricsListener ? [metricsListener.server] : []), ...servers], async () => {
    await renewal?.stop()
    await service.close()
  })
  const opening = openListener(server, { address: settings.listen, descriptor, who: 'auth service', setting: 'GRANTOR_LISTEN' })
  try {
    await allListening([
      opening,
      ...(adminServer && settings.adminListen
        ? [listen(adminServer, settings.adminListen, 'admin API', 'set GRANTOR_ADMIN_LISTEN')]
        : []),
      ...(metricsListener ? [metricsListener.listen()] : []),
    ])
  } catch (error) {
    await close()
    throw error
  }
  return { close, drain: service.drain, address: await opening }
}
