/** Finds free ports on loopback for the servers a test starts. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

// Below the range from which kernels take the ports of outgoing connections, so that no client of another
// test can take a port between this check and the server's bind. Above every port that browsers refuse.
const LOWEST = 12_000
const HIGHEST = 32_000

/** Returns `count` different ports, each free on 127.0.0.1 a moment ago. All are bound together before any is released. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>()
  while (held.size < count) {
    const port = randomInt(LOWEST, HIGHEST)
    const holder = await hold(port)
    if (holder) held.set(port, holder)
  }
  await Promise.all([...held.values()].map(letGo))
  return [...held.keys()]
}

/** The first of six ports in a row, free a moment ago: `grantor start` takes them. */
export async function sixInARow(): Promise<number> {
  for (;;) {
    const first = randomInt(LOWEST, HIGHEST)
    const held = await Promise.all([0, 1, 2, 3, 4, 5].map((offset) => hold(first + offset)))
    await Promise.all(held.flatMap((holder) => (holder ? [letGo(holder)] : [])))
    if (held.every(Boolean)) return first
  }
}

async function hold(port: number): Promise<Server | null> {
  const holder = createServer()
  holder.listen(port, '127.0.0.1')
  try {
    await once(holder, 'listening')
    return holder
  } catch {
    return null // in use, by a server or by an earlier round of this function
  }
}

async function letGo(holder: Server): Promise<void> {
  holder.close()
  await once(holder, 'close')
}
