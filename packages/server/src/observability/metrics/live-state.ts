/**
 * The requests of the last hour in this process, minute by minute, for the report of the process. An observation increments a few numbers, and the
 * memory is bounded: 61 minutes of about 300 bytes.
 */
import { BUCKETS, bucketOf } from './latencies.ts'
import type { Metrics, RequestObservation } from './metrics.ts'
import { createRefusedSenders, type RefusedSenders } from './refused-senders.ts'
import { createRefusedSignIns, type RefusedSignIns } from './refused-sign-ins.ts'

type Observed = Pick<Metrics, 'observeRequest' | 'expectRoute' | 'countRefusal' | 'countTokens' | 'countDraw'>

const MINUTES = 60

type CountedMinute = { minute: number; requests: number; faults: number; limited: number; latencies: Uint32Array }

/** Without the present minute, and only minutes with requests. The oldest first. */
export type LiveMinute = Omit<CountedMinute, 'latencies'> & { latencies: [bucket: number, count: number][] }

export type LiveState = {
  /** epoch seconds */
  startedAt: number
  /** passes everything on to `metrics`, and counts the requests */
  observe(metrics: Observed | undefined): Observed
  refusedSenders: RefusedSenders
  refusedSignIns: RefusedSignIns
  readMinutes(): LiveMinute[]
}

export function createLiveState(now: () => number): LiveState {
  /** One place more than the hour has, for the present minute. */
  const ring: (CountedMinute | undefined)[] = []

  function present(): CountedMinute {
    const minute = Math.floor(now() / 60)
    const counted = ring[minute % (MINUTES + 1)]
    if (counted?.minute === minute) return counted
    const fresh = { minute, requests: 0, faults: 0, limited: 0, latencies: new Uint32Array(BUCKETS) }
    ring[minute % (MINUTES + 1)] = fresh
    return fresh
  }

  function count({ route, status, seconds }: RequestObservation): void {
    if (route.startsWith('/health/')) return
    const minute = present()
    minute.requests += 1
    if (status >= 500) minute.faults += 1
    if (status === 429) minute.limited += 1
    const bucket = bucketOf(seconds)
    minute.latencies[bucket] = (minute.latencies[bucket] ?? 0) + 1
  }

  return {
    startedAt: now(),
    refusedSenders: createRefusedSenders(now),
    refusedSignIns: createRefusedSignIns(now),
    observe: (metrics) => ({
      observeRequest(request) {
        metrics?.observeRequest(request)
        count(request)
      },
      countRefusal: (error, reason) => metrics?.countRefusal(error, reason),
      expectRoute: (route) => metrics?.expectRoute(route),
      countTokens: (grantType, client) => metrics?.countTokens(grantType, client),
      countDraw: (result) => metrics?.countDraw(result),
    }),
    readMinutes() {
      const end = Math.floor(now() / 60)
      return ring
        .filter(
          (counted): counted is CountedMinute => counted !== undefined && counted.minute >= end - MINUTES && counted.minute < end,
        )
        .map((counted) => ({ ...counted, latencies: withoutEmpty(counted.latencies) }))
        .sort((a, b) => a.minute - b.minute)
    },
  }
}

function withoutEmpty(latencies: Uint32Array): [bucket: number, count: number][] {
  return [...latencies.entries()].filter(([, count]) => count > 0)
}
