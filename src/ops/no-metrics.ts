/** Where metrics are off. Apart from `metrics.ts`, so that prom-client is loaded only where it is wanted. */
import type { Metrics } from './metrics.ts'

export const noMetrics: Pick<Metrics, 'observeRequest' | 'countRefusal' | 'countSwept'> = {
  observeRequest() {},
  countRefusal() {},
  countSwept() {},
}
