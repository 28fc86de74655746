/** Ports that are free now. The new app keeps them, so two apps that were made on one machine can run at the same time. */
import { createServer } from 'node:net'
import { CreateError } from './create-error.ts'

/** How many ports `grantor start` uses, in a row. */
const GRANTOR_PORTS = 6
const APP_PORT = 3000
const GRANTOR_PORT = 4000
const ATTEMPTS = 50

export async function choosePorts(given: { app?: number | undefined; grantor?: number | undefined }) {
  const app = given.app ?? (await firstFree(APP_PORT, 1, 1))
  const grantor = given.grantor ?? (await firstFree(GRANTOR_PORT, GRANTOR_PORTS, 10))
  if (app >= grantor && app < grantor + GRANTOR_PORTS)
    throw new CreateError(`The port ${app} of the app is one of the six ports of Grantor from ${grantor} on: choose another one.`)
  return { app, grantor }
}

/** Not only 127.0.0.1: on some systems, a program that listens on all addresses does not make the port look used there. */
const HOSTS = ['127.0.0.1', '::']

async function firstFree(first: number, count: number, step: number): Promise<number> {
  for (let port = first; port < first + ATTEMPTS * step; port += step) {
    const row = Array.from({ length: count }, (_, index) => port + index)
    if ((await Promise.all(row.map(isFree))).every(Boolean)) return port
  }
  throw new CreateError(`No port from ${first} on is free: choose one with --port and --grantor-port.`)
}

/** One address after the other: `::` covers 127.0.0.1 on most systems. */
async function isFree(port: number): Promise<boolean> {
  for (const host of HOSTS) if (!(await isFreeAt(port, host))) return false
  return true
}

function isFreeAt(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    // A machine without IPv6 has no such address, and then nothing listens there.
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
