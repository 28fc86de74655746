/**
 * The requests of the last hour in this process, in slots of ten seconds, for the console. An observation increments a few numbers, and
 * the memory is bounded: 360 slots of about 300 bytes, plus the reasons of refusals, which come from a closed set.
 */
import type { Metrics, RequestObservation } from './metrics.ts'
import { createRefusedSenders, type RefusedSenders } from './refused-senders.ts'
import { createRefusedSignIns, type RefusedSignIns } from './refused-sign-ins.ts'

type Observed = Pick<Metrics, 'observeRequest' | 'expectRoute' | 'countRefusal' | 'countTokens'>

/** Seconds. */
const SLOT = 10
const SLOTS = 360

/** Upper bounds of the buckets of latencies: 0.25 ms, and each 1.3 times the one before, up to 20 s. */
const SMALLEST = 0.000_25
const GROWTH = 1.3
const BUCKETS = 44

type LiveSlot = { number: number; requests: number; faults: number; latencies: Uint32Array; refusals: Map<string, number> }

/** Seconds, and null without a request. */
export type Percentiles = { p50: number | null; p95: number | null; p99: number | null }

export type LiveSample = Percentiles & {
  /** epoch seconds of the start */
  at: number
  requests: number
  refusals: number
}

export type LiveReading = {
  /** epoch seconds */
  startedAt: number
  /** the last minute, without the present slot */
  now: Percentiles & { perSecond: number; faults: number }
  /** equal spans of the last hour, oldest first */
  samples: LiveSample[]
  /** seconds of a sample */
  span: number
  /** of the last hour, the most frequent first */
  refusals: { reason: string; count: number }[]
}

export type LiveState = {
  /** passes everything on to `metrics`, and counts it */
  observe(metrics: Observed | undefined): Observed
  refusedSenders: RefusedSenders
  refusedSignIns: RefusedSignIns
  read(): LiveReading
}

export function createLiveState(now: () => number): LiveState {
  const startedAt = now()
  const ring: (LiveSlot | undefined)[] = []

  function present(): LiveSlot {
    const number = Math.floor(now() / SLOT)
    const slot = ring[number % SLOTS]
    if (slot?.number === number) return slot
    const fresh = { number, requests: 0, faults: 0, latencies: new Uint32Array(BUCKETS), refusals: new Map<string, number>() }
    ring[number % SLOTS] = fresh
    return fresh
  }

  function observeRequest({ route, status, seconds }: RequestObservation): void {
    if (route.startsWith('/health/')) return
    const slot = present()
    slot.requests += 1
    if (status >= 500) slot.faults += 1
    addLatency(slot, seconds)
  }

  const slotsOf = (from: number, to: number): LiveSlot[] =>
    ring.filter((slot): slot is LiveSlot => slot !== undefined && slot.number >= from && slot.number < to)

  return {
    refusedSenders: createRefusedSenders(now),
    refusedSignIns: createRefusedSignIns(now),
    observe: (metrics) => ({
      observeRequest(request) {
        metrics?.observeRequest(request)
        observeRequest(request)
      },
      countRefusal(error, reason) {
        metrics?.countRefusal(error, reason)
        addRefusal(present(), reason)
      },
      expectRoute: (route) => metrics?.expectRoute(route),
      countTokens: (grantType, client) => metrics?.countTokens(grantType, client),
    }),
    read() {
      const end = Math.floor(now() / SLOT)
      const minute = slotsOf(end - 6, end)
      const samples = Array.from({ length: SLOTS / SLOTS_OF_SAMPLE }, (_, index) => {
        const from = end - SLOTS + index * SLOTS_OF_SAMPLE
        return sampleOf(from, slotsOf(from, from + SLOTS_OF_SAMPLE))
      })
      return {
        startedAt,
        now: { ...percentilesOf(minute), perSecond: sumOf(minute, 'requests') / 60, faults: sumOf(minute, 'faults') },
        samples,
        span: SLOT * SLOTS_OF_SAMPLE,
        refusals: refusalsOf(slotsOf(end - SLOTS, end + 1)),
      }
    },
  }
}

function addLatency({ latencies }: LiveSlot, seconds: number): void {
  const bucket = bucketOf(seconds)
  latencies[bucket] = (latencies[bucket] ?? 0) + 1
}

function addRefusal({ refusals }: LiveSlot, reason: string): void {
  refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
}

const SLOTS_OF_SAMPLE = 6

function sampleOf(from: number, slots: LiveSlot[]): LiveSample {
  const refusals = refusalsOf(slots).reduce((sum, { count }) => sum + count, 0)
  return { at: from * SLOT, requests: sumOf(slots, 'requests'), refusals, ...percentilesOf(slots) }
}

function sumOf(slots: LiveSlot[], name: 'requests' | 'faults'): number {
  return slots.reduce((sum, slot) => sum + slot[name], 0)
}

function refusalsOf(slots: LiveSlot[]): { reason: string; count: number }[] {
  const sums = new Map<string, number>()
  for (const { refusals } of slots) for (const [reason, count] of refusals) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return [...sums].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count)
}

function bucketOf(seconds: number): number {
  if (seconds <= SMALLEST) return 0
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(seconds / SMALLEST) / Math.log(GROWTH)))
}

/** The upper bound of the bucket: at most 30 % above the exact value. */
function percentilesOf(slots: LiveSlot[]): Percentiles {
  const sums = Array.from({ length: BUCKETS }, (_, bucket) =>
    slots.reduce((sum, { latencies }) => sum + (latencies[bucket] ?? 0), 0),
  )
  const all = sums.reduce((sum, each) => sum + each, 0)
  const at = (share: number): number | null => {
    if (all === 0) return null
    let seen = 0
    const bucket = sums.findIndex((each) => (seen += each) >= all * share)
    return SMALLEST * GROWTH ** bucket
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
