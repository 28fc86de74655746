/** The metrics of several worker processes as one page, because a scrape of one worker shows only a part. */
import { AggregatorRegistry, Counter, Gauge, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client'

/** The metrics of one process, as `registry.getMetricsAsJSON()` returns them; they survive JSON. */
export type MetricsSnapshot = MetricObjectWithValues<MetricValue<string>>[]

export type SummedMetrics = {
  /** stores the latest snapshot of a running worker; worker numbers are unique within the life of this process */
  keep(worker: number, snapshot: MetricsSnapshot): void
  /** That worker has ended. Its counters stay in the sums: a sum that falls would look like a restart of the service. */
  retire(worker: number): void
  render(): Promise<string>
  contentType: string
}

/** `working` returns how many workers accept requests at this moment. */
export function createSummedMetrics(working: () => number): SummedMetrics {
  const own = new Registry()
  const workers = new Gauge({
    name: 'grantor_workers',
    help: 'Worker processes that accept requests.',
    registers: [own],
  })
  const ended = new Counter({
    name: 'grantor_workers_ended_total',
    help: 'Worker processes that ended unexpectedly and were replaced.',
    registers: [own],
  })
  const latest = new Map<number, MetricsSnapshot>()
  const retired = new Set<number>()
  let gone: Promise<MetricsSnapshot> = Promise.resolve([])

  return {
    contentType: own.contentType,
    keep(worker, snapshot) {
      // The last snapshot of a killed worker can arrive after its exit event.
      if (!retired.has(worker)) latest.set(worker, snapshot)
    },
    retire(worker) {
      ended.inc()
      retired.add(worker)
      const counted = (latest.get(worker) ?? []).filter(({ type }) => COUNTED.has(String(type)))
      latest.delete(worker)
      gone = gone.then((before) => sum([before, counted]).getMetricsAsJSON())
    },
    async render() {
      workers.set(working())
      return sum([...latest.values(), await gone, await own.getMetricsAsJSON()]).metrics()
    },
  }
}

// Gauges describe the present state, which a worker that has ended does not have.
const COUNTED = new Set(['counter', 'histogram', 'summary'])

/** Each metric defines its aggregation: most are summed, the lag of the event loop is averaged. */
function sum(snapshots: readonly MetricsSnapshot[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots])
}
