/** A network between the store and PostgreSQL that a test can disturb. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'

type Way = { client: Socket; server: Socket; number: number }

/**
 * A proxy in front of the server. `toClient` and `toServer` handle the bytes; by default the bytes are forwarded. With
 * `hidesClosing` the server does not notice that the client has closed its connection, as in a network that went silent.
 */
export async function proxied(
  address: PostgresAddress,
  {
    toClient,
    toServer,
    onOpen,
    hidesClosing = false,
  }: {
    toClient?: (bytes: Buffer, way: Way) => void
    toServer?: (bytes: Buffer, way: Way) => void
    onOpen?: (way: Way) => void
    hidesClosing?: boolean
  },
): Promise<PostgresAddress> {
  const [behind] = address.servers
  if (!behind) throw new Error('no server')
  const sockets: Socket[] = []
  let number = 0
  const proxy = createServer((client) => {
    const server = connect(behind.port, behind.host)
    const way = { client, server, number: ++number }
    sockets.push(client, server)
    for (const each of [client, server]) each.on('error', () => undefined)
    onOpen?.(way)
    client.on('data', (bytes: Buffer) => (toServer ? toServer(bytes, way) : server.write(bytes)))
    server.on('data', (bytes: Buffer) => (toClient ? toClient(bytes, way) : client.write(bytes)))
    if (!hidesClosing) client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return { ...address, servers: [{ host: '127.0.0.1', port: (proxy.address() as AddressInfo).port }] }
}
