/** Scenes in which the other side of a connection is silent. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { latenciesOf } from '../load/open-loop.ts'
import { requireStatus } from '../load/work.ts'
import { authorizePath } from '../operations.ts'
import { formPost, networkOf, visit } from '../request.ts'
import { registerApi } from '../servers/register.ts'
import type { Target } from '../target.ts'
import { type Beside, type Scene, storm } from './scene.ts'

const RATE = 1000
const ENDED_EACH_SECOND = 100
const READERS = 16
/** 127.0.0.1 and the addresses after it */
const HOSTS = 250
const REDIRECT_URI = 'http://127.0.0.1:7777/callback'

let sent = 0

export const silentScenes: Scene[] = [
  {
    name: '1,000 unknown documents a second, one network',
    server: 'development',
    prepare: (target) => documents(target, { network: () => '192.0.2.1', isSilent: false }),
  },
  {
    name: '1,000 unknown documents a second, many networks',
    server: 'development',
    prepare: (target) => documents(target, { network: () => networkOf(sent++), isSilent: false }),
  },
  {
    name: '1,000 documents a second whose host is silent',
    server: 'development',
    prepare: (target) => documents(target, { network: () => networkOf(sent++), isSilent: true }),
  },
  { name: 'a webhook whose receiver is silent', server: 'development', prepare: silentWebhook },
  { name: '16 readers of the feed that never read', server: 'production', prepare: silentReaders },
]

type Documents = { network: () => string; isSilent: boolean }

/** Each id is another one, at one of the addresses of this machine: the limit of one host would refuse most of them. */
async function documents(target: Target, { network, isSilent }: Documents): Promise<Beside> {
  const server = isSilent ? await serveSilence() : await serveDocuments()
  const [before = '', after = ''] = authorizePath(target, {
    clientId: `http://127.0.0.HOST:${server.port}/NUMBER.json`,
    redirectUri: REDIRECT_URI,
  }).split(/HOST.*NUMBER/)
  let count = 0
  // Written once: the load must cost as little as possible.
  const next = () => visit(`${before}${1 + (++count % HOSTS)}%3A${server.port}%2F${count}${after}`, network())
  return { ...storm(target, next, RATE), stop: server.close }
}

type Listening = { port: number; close(): Promise<void> }

/** Accepts connections, and answers nothing. */
async function serveSilence(): Promise<Listening> {
  return listening((socket) => void socket.resume())
}

/** A metadata document at every address. */
async function serveDocuments(): Promise<Listening> {
  return listening((socket) => {
    socket.once('data', (bytes: Buffer) => {
      const [, path = '', host = ''] = /^GET (\S+) HTTP\/1\.1\r\n[^]*?host: (\S+)/i.exec(bytes.toString('latin1')) ?? []
      const document = { client_id: `http://${host}${path}`, client_name: 'Bench', redirect_uris: [REDIRECT_URI] }
      const body = JSON.stringify({ ...document, token_endpoint_auth_method: 'none' })
      const type = 'Content-Type: application/json\r\nCache-Control: max-age=3600\r\nConnection: close'
      socket.end(`HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })
  })
}

/** Listens at `HOSTS` loopback addresses. */
async function listening(accept: (socket: Socket) => void): Promise<Listening> {
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  let port = 0
  while (servers.length < HOSTS) {
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
      socket.once('close', () => sockets.delete(socket))
      accept(socket)
    }).listen(port, `127.0.0.${servers.length + 1}`)
    servers.push(server)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  return {
    port,
    async close() {
      for (const socket of sockets) socket.destroy()
      for (const server of servers) server.close()
    },
  }
}

/** Grants end meanwhile, so that there is something to send. */
async function silentWebhook(target: Target): Promise<Beside> {
  const server = await serveSilence()
  await target.run?.(['webhooks', 'create', `http://localhost:${server.port}/`, '--json'])
  return { ...endings(target), stop: server.close }
}

async function silentReaders(target: Target): Promise<Beside> {
  const { authorization } = await registerApi(target)
  const readers = await Promise.all(Array.from({ length: READERS }, () => openReader(target, authorization)))
  return {
    ...endings(target),
    async stop() {
      for (const reader of readers) reader.destroy()
    },
  }
}

/** Sends the request, and reads nothing. */
async function openReader({ port }: Target, authorization: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).pause()
  await once(socket, 'connect')
  const headers = `Host: localhost\r\nAuthorization: ${authorization}\r\nAccept: text/event-stream\r\n`
  socket.write(`GET /oauth/endings HTTP/1.1\r\n${headers}\r\n`)
  return socket.on('error', () => undefined)
}

function endings(target: Target): Beside {
  let requests: string[] = []
  return {
    async ready(seconds) {
      const tokens = (await target.supply?.refreshTokens(Math.ceil(ENDED_EACH_SECOND * (seconds + 1)))) ?? []
      requests = tokens.map((token) => formPost(target.paths.revoke, target.authorization, { token }))
    },
    async during(seconds) {
      const accept = (answer: Parameters<typeof requireStatus>[0]) => requireStatus(answer, 200, 'revoke')
      await latenciesOf(
        target.port,
        { next: () => requests.pop(), accept },
        { connections: 16, rate: ENDED_EACH_SECOND, seconds },
      )
    },
  }
}
