/**
 * Open loop: requests are due at a constant rate, whether or not earlier ones have been answered. Measures latency.
 *
 * Each latency counts from the moment at which the request was due, not from the moment at which it could be sent. If a server stalls, all
 * requests that are due meanwhile wait, and their waiting time is counted (coordinated omission).
 */
import { percentile } from '../statistics.ts'
import { type Connection, connect } from './connection.ts'
import type { Work } from './work.ts'

/** in milliseconds */
export type Latency = { rate: number; requests: number; p50: number; p99: number; max: number }

type Load = { connections: number; rate: number; seconds: number }

/** Seconds at the beginning of a run, with new connections, which are not counted. */
const SETTLING = 0.5

export async function openLoop(port: number, work: Work, load: Load): Promise<Latency> {
  const latencies = await latenciesOf(port, work, load)
  return {
    rate: load.rate,
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    max: latencies.at(-1) ?? Number.NaN,
  }
}

/** Every latency in milliseconds, in ascending order. */
export async function latenciesOf(port: number, work: Work, { connections, rate, seconds }: Load): Promise<number[]> {
  const total = Math.floor(rate * (seconds + SETTLING))
  const skipped = Math.floor(rate * SETTLING)
  const open: Connection[] = []
  const idle: { connection: Connection; due: number; index: number }[] = []
  const latencies: number[] = []
  const done = Promise.withResolvers<void>()
  let [start, sent, answered, failed] = [0, 0, 0, false]

  for (let index = 0; index < connections; index++) {
    const slot = { connection: undefined as unknown as Connection, due: 0, index: 0 }
    slot.connection = await connect(
      port,
      (answer) => {
        if (slot.index >= skipped) latencies.push(performance.now() - slot.due)
        work.accept(answer)
        idle.push(slot)
        answered++
        if (answered === total) done.resolve()
      },
      done.reject,
    )
    open.push(slot.connection)
    idle.push(slot)
  }

  // The load has a core of its own: reading the clock all the time keeps to the rate far better than timers do. At a low rate
  // a timer leaves the core to a server that shares it.
  function sendWhatIsDue(): void {
    const now = performance.now()
    for (;;) {
      const due = start + (sent * 1000) / rate
      if (sent === total || failed) return
      if (due > now) break
      const request = idle.length > 0 ? work.next() : undefined
      // The one that was idle for the longest time: the server would close a connection that is never used.
      const slot = request === undefined ? undefined : idle.shift()
      if (request === undefined || slot === undefined) break
      slot.due = due
      slot.index = sent++
      slot.connection.send(request)
    }
    const rest = start + (sent * 1000) / rate - performance.now()
    if (rest > 4) setTimeout(sendWhatIsDue, rest - 3)
    else setImmediate(sendWhatIsDue)
  }
  try {
    start = performance.now()
    sendWhatIsDue()
    await done.promise
  } finally {
    failed = true
    for (const connection of open) connection.close()
  }
  return latencies.sort((one, other) => one - other)
}
