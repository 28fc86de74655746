/** Listening sockets that systemd opens and passes to the service (sd_listen_fds(3)). They stay open while the service restarts. */
import { type AddressInfo, Socket } from 'node:net'
import type { ListenAddress } from '../../config/parsers.ts'
import { type CommandEnvironment, CommandError, EXIT } from '../../operators/terminal/command.ts'
import type { Listener } from './listen.ts'

/** The first descriptor that systemd passes. */
const FIRST = 3

/** The descriptors of the passed sockets; none if the service opens its own socket. systemd names the process that may use them. */
export function passedDescriptors({ env }: Pick<CommandEnvironment, 'env'>): number[] {
  if (Number(env.LISTEN_PID) !== process.pid) return []
  return Array.from({ length: Number(env.LISTEN_FDS) || 0 }, (_, index) => FIRST + index)
}

/** One socket for each process that accepts connections. With a common socket, a few workers would accept most connections. */
export function requireSocketForEach(processes: number, { length }: readonly number[]): void {
  if (length === 0 || length === processes) return
  throw new CommandError(
    [
      `systemd passed ${length} ${length === 1 ? 'socket' : 'sockets'}, and the service has ${processes} ${processes === 1 ? 'process' : 'workers'}`,
      'repeat ListenStream= in the socket unit once for each worker, with ReusePort=true: docs/operating/operations.md#restarts-with-sockets-of-systemd',
    ],
    EXIT.usage,
  )
}

/** Listens on a passed socket, and returns the address of the socket. */
export async function listenOnPassed(listener: Listener, descriptor: number, who: string): Promise<ListenAddress> {
  try {
    // Node takes a handle from a `Socket`. With `{ fd }`, the primary of a cluster would listen in place of its worker.
    const socket = new Socket({ fd: descriptor, readable: false, writable: false }) as Socket & { _handle: unknown }
    const { address: host, port } = socket.address() as Partial<AddressInfo>
    if (host === undefined || port === undefined) throw new Error('not a TCP socket')
    const address = { host, port }
    await listener.listen({ ...address, handle: socket._handle } as ListenAddress)
    return address
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandError(
      `the ${who} cannot listen on the socket that systemd passed (${code ?? message}): ListenStream= must be an address with a port, and Accept= must not be set`,
      EXIT.usage,
    )
  }
}
