/**
 * Recognises a pooler that gives one connection of the server to several clients in turn, such as PgBouncer in transaction mode. There, the settings
 * of a connection apply to other statements, and two statements of one connection can run on two servers.
 */
import { clientOptions, type ServerAddress } from '../address.ts'
import { CheckedClient } from './client.ts'

export const SHARED_CONNECTIONS = 'a pooler in front of PostgreSQL shares its connections: use session pooling, or none'

/**
 * The order in which two connections are used. With session pooling each has one process of the server. If an idle pooler gives both the process that was
 * used last, both have the same one; if it gives them its processes in turn, one of them has two.
 */
const ORDER = [0, 1, 1, 0, 0, 1, 1, 0] as const
/** A busy pooler gives the processes by chance, and one round can look like session pooling: 1 of about 30 did beside eight other clients. */
const ROUNDS = 4

export async function sharesConnections(address: ServerAddress): Promise<boolean> {
  const clients = [new CheckedClient(clientOptions(address)), new CheckedClient(clientOptions(address))] as const
  try {
    await Promise.all(clients.map((client) => client.connect()))
    const processes = [new Set<number>(), new Set<number>()] as const
    for (const which of Array.from({ length: ROUNDS }, () => ORDER).flat()) {
      const { rows } = await clients[which].query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      for (const { pid } of rows) processes[which].add(pid)
    }
    return new Set(processes.flatMap((each) => [...each])).size !== 2 || processes[0].size !== 1
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}
