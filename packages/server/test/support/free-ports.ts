/** Finds free ports on loopback for the servers a test starts. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

// Below the range from which kernels take the ports of outgoing connections, so that no client of another
// test can take a port between this check and the server's bind. Above every port that browsers refuse.
const LOWEST = 12_000
const HIGHEST = 32_000

// Each worker has ports of its own, and repeats none of them before it has used all. Otherwise two test files that run at the same time
// could get the same port before either of them has bound the port.
const SHARE = 400
const SHARES = (HIGHEST - LOWEST) / SHARE
const first = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 0) % SHARES) * SHARE
let next = randomInt(SHARE)

/** Returns `count` different ports, each free on 127.0.0.1 a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const free: number[] = []
  while (free.length < count) {
    const port = nextPort()
    if (await isFree(port)) free.push(port)
  }
  return free
}

/** The first of six ports in a row, free a moment ago: `grantor start` takes them. */
export async function sixInARow(): Promise<number> {
  for (let row: number[] = []; ; ) {
    const port = nextPort()
    row = (await isFree(port)) ? [...(port - 1 === row.at(-1) ? row : []), port] : []
    const [start] = row
    if (start !== undefined && row.length === 6) return start
  }
}

function nextPort(): number {
  next = (next + 1) % SHARE
  return first + next
}

async function isFree(port: number): Promise<boolean> {
  const holder: Server = createServer()
  holder.listen(port, '127.0.0.1')
  try {
    await once(holder, 'listening')
  } catch {
    return false
  }
  holder.close()
  await once(holder, 'close')
  return true
}
