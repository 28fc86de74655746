/**
 * Paced loop: requests at a constant rate to several servers in turn, without a core for the load alone. A timer sends every ten milliseconds
 * what is due, so this loop measures no latency. It reports when each request was answered.
 */
import { type Answer, type Connection, connect } from './connection.ts'

/** Milliseconds. */
const EVERY = 10

type Load = {
  requests: readonly string[]
  rate: number
  /** for each server */
  connections: number
  /** called before the request with this index is sent, and with its answer */
  onSend?: (index: number) => void
  onAnswer: (index: number, answer: Answer) => void
}

/** Sends every request once, and returns how many a second were answered. */
export async function pacedLoop(
  ports: readonly number[],
  { requests, rate, connections, onSend, onAnswer }: Load,
): Promise<number> {
  const done = Promise.withResolvers<void>()
  const idle: { connection: Connection; index: number }[] = []
  const open: Connection[] = []
  let [sent, answered] = [0, 0]
  for (const port of ports.flatMap((each) => Array.from({ length: connections }, () => each))) {
    const slot = { connection: undefined as unknown as Connection, index: 0 }
    slot.connection = await connect(
      port,
      (answer) => {
        onAnswer(slot.index, answer)
        idle.push(slot)
        if (++answered === requests.length) done.resolve()
      },
      done.reject,
    )
    open.push(slot.connection)
    idle.push(slot)
  }
  // Connections of one server are beside each other: the requests must go to all servers in turn.
  idle.sort((one, other) => (open.indexOf(one.connection) % connections) - (open.indexOf(other.connection) % connections))
  const start = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - start) * rate) / 1000
    while (sent < Math.min(due, requests.length)) {
      const slot = idle.shift()
      if (!slot) return
      slot.index = sent++
      onSend?.(slot.index)
      slot.connection.send(requests[slot.index] ?? '')
    }
  }, EVERY)
  try {
    await done.promise
    return (requests.length * 1000) / (performance.now() - start)
  } finally {
    clearInterval(timer)
    for (const connection of open) connection.close()
  }
}
