/** `/metrics` of the primary of `serve --workers N`: the sums over its workers, measured for each scrape. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Settings } from '../../config/settings.ts'
import type { MetricsSnapshot } from '../../observability/metrics/summed-metrics.ts'
import { listen, promisifyServer } from './listen.ts'
import type { WorkerCrew } from './worker-crew.ts'

/** If a worker does not respond for this time, its previous snapshot is used. */
const MEASURE_TIMEOUT_MS = 1000

/** Undefined if metrics are off. The server does not listen yet; `crew` is called only when it does. */
export async function workerMetricsFor({ metricsListen: address }: Pick<Settings, 'metricsListen'>, crew: () => WorkerCrew) {
  if (!address) return undefined
  const [{ createMetricsServer }, { createSummedMetrics }] = await Promise.all([
    import('../../http/metrics-server.ts'),
    import('../../observability/metrics/summed-metrics.ts'),
  ])
  const summed = createSummedMetrics(() => crew().working().length)
  const waiting = new Map<number, () => void>()
  let underWay: Promise<void> | undefined

  async function measure(): Promise<void> {
    const answers = crew()
      .working()
      .map(({ id }) => new Promise<void>((resolve) => waiting.set(id, resolve)))
    crew().sendAll({ kind: 'measure' })
    await Promise.race([Promise.all(answers), pause(MEASURE_TIMEOUT_MS, undefined, { ref: false })])
    waiting.clear()
  }

  async function render(): Promise<string> {
    underWay ??= measure().finally(() => (underWay = undefined))
    await underWay
    return summed.render()
  }

  const server = promisifyServer(createMetricsServer({ render, contentType: summed.contentType }))
  return {
    server,
    listen: () => listen(server, address, 'metrics', 'set GRANTOR_METRICS_LISTEN'),
    keep(worker: number, snapshot: MetricsSnapshot): void {
      summed.keep(worker, snapshot)
      waiting.get(worker)?.()
    },
    retire: summed.retire,
  }
}
