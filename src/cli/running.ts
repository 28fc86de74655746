/** What the programs that keep running have in common: their log, their metrics, and the order in which they end. */
import { type Settings, secretsOf } from '../config/settings.ts'
import { createLogger, type Logger } from '../ops/logger.ts'
import { type Closable, closeServers } from '../ops/shutdown.ts'
import { listen, promising } from './listen.ts'

export function loggerFor(settings: Settings, destination?: { write(line: string): void }): Logger {
  return createLogger({ level: settings.logLevel, secrets: secretsOf(settings), ...(destination ? { destination } : {}) })
}

/** Metrics and their server, which does not listen yet; undefined where they are off, and prom-client is not loaded. */
export async function metricsFor({ metricsListen: address }: Pick<Settings, 'metricsListen'>) {
  if (!address) return undefined
  const { createMetrics, createMetricsServer } = await import('../ops/metrics.ts')
  const metrics = createMetrics()
  const server = promising(createMetricsServer(metrics))
  return { metrics, server, listen: () => listen(server, address, 'metrics', 'set GRANTOR_METRICS_LISTEN') }
}

/** Servers first, all together; what they stand on only when the last answer is out. */
export function closingInOrder(servers: readonly Closable[], then: () => Promise<void> = async () => {}): () => Promise<void> {
  return async () => {
    await closeServers(servers)
    await then()
  }
}
