/** A virtual address on loopback, which leads new connections to another server after a switch. Open connections stay where they are. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type VirtualAddress = {
  port: number
  /** the port to which new connections lead */
  leadTo(port: number): void
}

export async function startVirtualAddress(first: number): Promise<VirtualAddress> {
  let target = first
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const there = connect({ host: '127.0.0.1', port: target, noDelay: true })
    for (const socket of [client, there]) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        there.destroy()
      })
    }
    client.pipe(there)
    there.pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, leadTo: (port) => void (target = port) }
}
