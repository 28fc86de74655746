/** The last hour of the service, from the reports of its processes. */
import type { NodeMinute, NodeReport, RefusedSender } from '../model/node-store.ts'

const MINUTES = 60
/** Seconds after which every process has stored the minute that ended. */
const STORED_AFTER = 10
const SENDERS_AT_MOST = 50

/** `requests` is null before the first of the processes began. */
export type ServiceMinute = Omit<NodeMinute, 'requests'> & { requests: number | null }

/** The last 60 minutes that every process has reported, the oldest first. */
export function sumMinutes(nodes: readonly NodeReport[], at: number): ServiceMinute[] {
  const end = Math.floor((at - STORED_AFTER) / 60)
  const began = Math.min(...nodes.map(({ startedAt }) => Math.floor(startedAt / 60)))
  const counted = nodes.flatMap(({ minutes }) => minutes)
  return Array.from({ length: MINUTES }, (_, index) => {
    const minute = end - MINUTES + index
    const same = counted.filter((each) => each.minute === minute)
    return {
      minute,
      requests: minute < began ? null : sum(same.map(({ requests }) => requests)),
      faults: sum(same.map(({ faults }) => faults)),
      limited: sum(same.map(({ limited }) => limited)),
      latencies: same.flatMap(({ latencies }) => latencies),
    }
  })
}

/** The most frequent first. `others`: refusals of other senders. */
export function sumRefusals(nodes: readonly NodeReport[]): { senders: RefusedSender[]; others: number } {
  const sums = new Map<string, RefusedSender>()
  for (const sender of nodes.flatMap(({ refused }) => refused)) {
    const key = `${sender.network} ${sender.reason} ${sender.client}`
    sums.set(key, { ...sender, count: sender.count + (sums.get(key)?.count ?? 0) })
  }
  const all = [...sums.values()].sort((a, b) => b.count - a.count)
  const rest = sum(all.slice(SENDERS_AT_MOST).map(({ count }) => count))
  return { senders: all.slice(0, SENDERS_AT_MOST), others: rest + sum(nodes.map(({ otherRefusals }) => otherRefusals)) }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
