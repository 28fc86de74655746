/**
 * A TCP proxy on loopback that cuts connections on order, at the two moments that matter to whoever waits for an
 * answer: before the request got through, or after it was worked on and before its answer came back. It knows no
 * protocol: a request is what the client sends next, its answer is what the server sends next.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** `before`: the request never arrives. `after`: it is worked on, and its answer is lost. */
export type Cut = 'before' | 'after'

export type CuttingProxy = {
  port: number
  /** cuts the connection on which the next request comes */
  cutNext(when: Cut): void
  /** cuts every connection there is, at once */
  cutAll(): void
  /** lets nobody in, as a machine that is gone */
  refuse(on: boolean): void
  /** how many connections were cut on order */
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
    let doomed = false
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
      const order = doomed ? undefined : orders.shift()
      if (order !== undefined) cuts++
      if (order === 'before') return cut()
      if (order === 'after') doomed = true
      server.write(chunk)
    })
    // The server answers only what it has done, so the cut comes after that.
    server.on('data', (chunk) => (doomed ? cut() : void client.write(chunk)))
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
