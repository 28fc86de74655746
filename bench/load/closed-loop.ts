/** Closed loop: every connection sends its next request after the response to the last one. Measures the highest rate of a server. */
import { type Connection, connect } from './connection.ts'
import type { Work } from './work.ts'

export type Throughput = {
  /** responses in the measured time, and that time in seconds */
  requests: number
  seconds: number
  perSecond: number
  /** also the responses that came after the measured time */
  all: number
}

/**
 * Sends for `seconds`, or until no work is left. Then the count ends: the function waits for the requests in progress but does not count
 * them. Rejects at the first wrong response.
 */
export async function closedLoop(
  port: number,
  work: Work,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<Throughput> {
  const open: Connection[] = []
  const done = Promise.withResolvers<void>()
  let [start, end, requests, all, underWay, counting] = [0, Number.POSITIVE_INFINITY, 0, 0, 0, true]

  function sendNext(connection: Connection): void {
    const request = counting ? work.next() : undefined
    if (request === undefined) {
      stop()
      return
    }
    underWay++
    connection.send(request)
  }
  function stop(): void {
    if (counting) end = performance.now()
    counting = false
    if (underWay === 0) done.resolve()
  }
  for (let index = 0; index < connections; index++) {
    const connection: Connection = await connect(
      port,
      (answer) => {
        underWay--
        work.accept(answer)
        all++
        if (counting) requests++
        if (counting && performance.now() >= start + seconds * 1000) stop()
        sendNext(connection)
      },
      done.reject,
    )
    open.push(connection)
  }
  try {
    start = performance.now()
    for (const connection of open) sendNext(connection)
    await done.promise
  } finally {
    for (const connection of open) connection.close()
  }
  const took = (end - start) / 1000
  return { requests, seconds: took, perSecond: requests / took, all }
}

/** Sends all requests of the work. */
export function sendAll(port: number, work: Work, connections = 64): Promise<Throughput> {
  return closedLoop(port, work, { connections, seconds: Number.POSITIVE_INFINITY })
}
