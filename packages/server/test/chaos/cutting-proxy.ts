/**
 * A TCP proxy on loopback that cuts connections on order, at one of two moments: before the request arrives, or after the server has
 * processed the request and before the response arrives. The proxy parses no protocol: a request is what the client sends next, and
 * its response is what the server sends next.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** `before`: the server does not receive the request. `after`: the server processes the request, and the response is lost. */
export type Cut = 'before' | 'after'

export type CuttingProxy = {
  port: number
  /** cuts the connection of the next request */
  cutNext(when: Cut): void
  /** cuts every open connection at once */
  cutAll(): void
  /** refuses connections, like a machine that is down */
  refuse(on: boolean): void
  /** the number of connections that were cut on order */
  cuts(): number
  close(): Promise<void>
}

export async function startCuttingProxy(target: { host?: string; port: number }): Promise<CuttingProxy> {
  const orders: Cut[] = []
  const open = new Set<Socket>()
  let cuts = 0
  let refusing = false

  const server = createServer((client) => {
    const server = connect({ host: target.host ?? '127.0.0.1', port: target.port, noDelay: true })
    client.setNoDelay(true)
    let cutAtResponse = false
    const cut = (): void => {
      client.destroy()
      server.destroy()
      open.delete(client)
    }
    open.add(client)
    for (const socket of [client, server]) {
      socket.on('error', cut)
      socket.on('close', cut)
    }
    if (refusing) return cut()
    client.on('data', (chunk) => {
      const order = cutAtResponse ? undefined : orders.shift()
      if (order !== undefined) cuts++
      if (order === 'before') return cut()
      if (order === 'after') cutAtResponse = true
      server.write(chunk)
    })
    // The server responds only after it has processed the request, so this cut comes afterwards.
    server.on('data', (chunk) => (cutAtResponse ? cut() : void client.write(chunk)))
    client.on('end', () => server.end())
    server.on('end', () => client.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const cutAll = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cutNext: (when) => void orders.push(when),
    cutAll,
    refuse(on) {
      refusing = on
      if (on) cutAll()
    },
    cuts: () => cuts,
    async close() {
      server.close()
      cutAll()
      await once(server, 'close')
    },
  }
}
