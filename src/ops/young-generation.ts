/** The memory of what lives for one request: the heap's young generation, and how it is cleaned. */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Bytes, of both halves together. With less, what belongs to the requests under way at a cleaning is half of what there is:
 * it is taken for lasting and moved, at a quarter of a code exchange's time. V8 would let it grow to twice this and more.
 */
const ENOUGH = 32 * 1024 * 1024

/**
 * Keeps the young generation at 32 MB under load. V8 makes it small in quiet hours, so it must be free to grow again, and
 * is looked at after each cleaning. In `NODE_OPTIONS`, a smaller `--max-semi-space-size` or a larger `--min-semi-space-size`
 * (each of one half) still holds.
 *
 * It is cleaned by the thread that made it: helpers save nothing where there are as many processes as cores, and hold
 * memory of their own.
 */
export function keepYoungGeneration(): void {
  setFlagsFromString('--no-parallel-scavenge')
  let growing = true
  const look = (): void => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
    const wanted = young !== undefined && young.space_size < ENOUGH
    if (wanted === growing) return
    growing = wanted
    setFlagsFromString(`--semi-space-growth-factor=${wanted ? 2 : 1}`)
  }
  look()
  new PerformanceObserver(look).observe({ entryTypes: ['gc'] })
}
