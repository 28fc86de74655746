/** Opens a listener, or explains in one line why that is not possible. */
import type { Server } from 'node:http'
import type { ListenAddress } from '../../config/parsers.ts'
import { CommandError } from '../../operators/terminal/command.ts'

/** The common part of fastify servers and plain servers, once `promisifyServer` has wrapped the latter. */
export type Listener = { listen(address: ListenAddress): Promise<unknown> }

/** `remedy` is the advice if the address is in use. */
export async function listen(listener: Listener, address: ListenAddress, who: string, remedy: string): Promise<void> {
  try {
    await listener.listen(address)
  } catch (error) {
    const where = `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EADDRINUSE':
        throw new CommandError(
          `port ${address.port} is in use (${where}), and the ${who} needs it: stop the program that uses it, or ${remedy}`,
        )
      case 'EACCES':
        throw new CommandError(`this user may not listen on ${where} (the ${who} needs it): use a port above 1023, or ${remedy}`)
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new CommandError(`${where} is not an address of this machine (the ${who} needs it): ${remedy}`)
      default:
        throw error
    }
  }
}

/**
 * Waits until all listeners are open. If one fails, the function waits for the others before it throws the first
 * failure: a server that is closed while it begins to listen would stay open.
 */
export async function allListening(opening: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(opening)
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

/** A plain HTTP server with promises for listening and closing, like fastify's. */
export function promisifyServer(server: Server): Listener & { server: Server; close(): Promise<void> } {
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
