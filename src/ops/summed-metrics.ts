/** The numbers of several worker processes as one page: what a scrape of any of them alone would not tell. */
import { AggregatorRegistry, Counter, Gauge, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client'

/** What one process measured, as `registry.getMetricsAsJSON()` has it; it survives JSON. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

export type SummedMetrics = {
  /** the latest of a living worker; no two in the life of this process have one number */
  keep(worker: number, snapshot: Snapshot): void
  /** That worker is gone. What it had counted stays in the sums: a sum that falls would read as a restart of all. */
  retire(worker: number): void
  render(): Promise<string>
  contentType: string
}

/** `working` tells how many workers take requests at this moment. */
export function createSummedMetrics(working: () => number): SummedMetrics {
  const own = new Registry()
  const workers = new Gauge({
    name: 'grantor_workers',
    help: 'Worker processes that take requests.',
    registers: [own],
  })
  const ended = new Counter({
    name: 'grantor_workers_ended_total',
    help: 'Worker processes that ended without being asked to, and were replaced.',
    registers: [own],
  })
  const latest = new Map<number, Snapshot>()
  const retired = new Set<number>()
  let gone: Promise<Snapshot> = Promise.resolve([])

  return {
    contentType: own.contentType,
    keep(worker, snapshot) {
      // The last words of one that was killed can come after the news that it is gone.
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

// Gauges tell how something is: of what is gone there is none.
const COUNTED = new Set(['counter', 'histogram', 'summary'])

/** Each as its metric asks for: most are added up, the lag of the event loop is an average. */
function sum(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots])
}
