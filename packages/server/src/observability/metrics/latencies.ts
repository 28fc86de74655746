/** Durations of requests in buckets, so that those of several minutes and of several processes can be added. */

/** Upper bounds of the buckets: 0.25 ms, and each 1.3 times the one before, up to 20 s. */
const SMALLEST = 0.000_25
const GROWTH = 1.3
export const BUCKETS = 44

/** Seconds, and null without a request. */
export type Percentiles = { p50: number | null; p95: number | null; p99: number | null }

/** How many requests some of the buckets have. */
export type BucketCounts = readonly (readonly [bucket: number, count: number])[]

export function bucketOf(seconds: number): number {
  if (seconds <= SMALLEST) return 0
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(seconds / SMALLEST) / Math.log(GROWTH)))
}

/** The upper bound of the bucket: at most 30 % above the exact value. */
export function percentilesOf(counts: BucketCounts): Percentiles {
  const sums = new Uint32Array(BUCKETS)
  for (const [bucket, count] of counts) sums[bucket] = (sums[bucket] ?? 0) + count
  const all = sums.reduce((sum, each) => sum + each, 0)
  const at = (share: number): number | null => {
    if (all === 0) return null
    let seen = 0
    const bucket = sums.findIndex((each) => (seen += each) >= all * share)
    return SMALLEST * GROWTH ** bucket
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
