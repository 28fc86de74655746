/**
 * A typical balancer: it probes the readiness of each node periodically, sends each request to the next ready node over a kept-alive
 * connection, and never repeats a request. A request without a response gets 502.
 */
import { EventEmitter, once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export type Balancer = {
  url: string
  /** the ports of the nodes in rotation */
  rotation(): number[]
  /** resolves when the node is in rotation, or out of it */
  until(port: number, how: 'in' | 'out'): Promise<void>
  /** resolves at the node's next response to the request of a client */
  untilAnswered(port: number): Promise<void>
  close(): Promise<void>
}

/** Probes each node again `everyMs` after its last response. One response decides, and so does one refused connection. */
export async function startBalancer(ports: readonly number[], everyMs: number): Promise<Balancer> {
  const nodes = ports.map((port) => ({ port, ready: false, answers: new EventEmitter(), agent: new Agent({ keepAlive: true }) }))
  const closing = new AbortController()
  let turn = 0
  let watchers: (() => void)[] = []

  const server = createServer((asked, reply) => {
    const ready = nodes.filter((node) => node.ready)
    const node = ready[turn++ % Math.max(1, ready.length)]
    if (!node) return fail(reply, 'no node is ready')
    forward(asked, reply, node)
  })
  server.keepAliveTimeout = 0

  // One probe at a time: a response from before a drain must not arrive after a later one.
  const probes = nodes.map(async (node) => {
    while (!closing.signal.aborted) {
      node.ready = await isReady(node.port, closing.signal)
      for (const look of watchers) look()
      await pause(everyMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    rotation: () => nodes.filter(({ ready }) => ready).map(({ port }) => port),
    until: (port, how) =>
      new Promise((resolve) => {
        const look = () => {
          if (nodes.find((node) => node.port === port)?.ready !== (how === 'in')) return
          watchers = watchers.filter((each) => each !== look)
          resolve()
        }
        watchers.push(look)
        look()
      }),
    async untilAnswered(port) {
      const node = nodes.find((each) => each.port === port)
      if (node) await once(node.answers, 'answer')
    },
    async close() {
      closing.abort()
      await Promise.all(probes)
      for (const { agent } of nodes) agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Node = { port: number; agent: Agent; answers: EventEmitter }

function forward(asked: IncomingMessage, reply: ServerResponse, { port, agent, answers }: Node): void {
  const { method, url: path, headers } = asked
  const { connection: _, ...passed } = headers
  const sent = request({ host: '127.0.0.1', port, method, path, headers: passed, agent }, (answer) => {
    // These headers concern the connection to the node, and not the connection to the client.
    const { connection: __, 'keep-alive': ___, ...told } = answer.headers
    reply.writeHead(answer.statusCode ?? 502, told)
    answers.emit('answer')
    answer.pipe(reply)
    answer.on('error', (error) => reply.destroy(error))
  })
  sent.on('error', (error) =>
    fail(reply, `${(error as NodeJS.ErrnoException).code} on ${sent.reusedSocket ? 'a kept' : 'a new'} connection`),
  )
  asked.pipe(sent)
}

function fail(reply: ServerResponse, why: string): void {
  if (reply.headersSent) reply.destroy()
  else reply.writeHead(502, { 'content-type': 'text/plain' }).end(`the balancer: ${why}`)
}

function isReady(port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get({ host: '127.0.0.1', port, path: '/health/ready', agent: false, signal }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    probe.on('error', () => resolve(false))
  })
}
