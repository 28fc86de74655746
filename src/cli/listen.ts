/** Opens a listener, or says in one line why it cannot be. */
import type { Server } from 'node:http'
import type { Address } from '../config/parsers.ts'
import { Failure } from './command.ts'

/** What fastify servers and plain ones have in common once wrapped by `compose.ts`. */
export type Listener = { listen(address: Address): Promise<unknown> }

/** `remedy` tells what to do when the address is taken. */
export async function listen(listener: Listener, address: Address, who: string, remedy: string): Promise<void> {
  try {
    await listener.listen(address)
  } catch (error) {
    const where = `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EADDRINUSE':
        throw new Failure(`port ${address.port} is in use (${where}), and the ${who} needs it: stop what uses it, or ${remedy}`)
      case 'EACCES':
        throw new Failure(`${where} may not be used by this user (the ${who} needs it): take a port above 1023, or ${remedy}`)
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new Failure(`${where} is no address of this machine (the ${who} needs it): ${remedy}`)
      default:
        throw error
    }
  }
}

/**
 * Waits until all listeners are open. When some cannot be, the others are waited for before the first failure is
 * thrown: closing a server that is about to listen would leave it listening.
 */
export async function allListening(opening: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(opening)
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

/** A plain HTTP server that listens and closes with promises, as fastify's do. */
export function promising(server: Server): Listener & { server: Server; close(): Promise<void> } {
  return {
    server,
    listen: ({ host, port }) =>
      new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => resolve())
      }),
    close: () =>
      new Promise<void>((resolve, reject) => {
        if (server.listening) server.close((error) => (error ? reject(error) : resolve()))
        else resolve()
      }),
  }
}
