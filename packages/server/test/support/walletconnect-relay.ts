/**
 * A relay of WalletConnect on loopback: it passes encrypted messages on by topic, and keeps them for a client that subscribes later. The clients
 * are the real library on both sides.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

type Message = { topic: string; message: string; tag?: number; attestation?: string; publishedAt: number }
type Client = { id: string; peer: WebSocketPeer; topics: Set<string> }
type Params = Record<string, unknown> & { topic: string; topics: string[]; message: string; tag: number }
type Call = { id: number | string; method?: string; params: Params }

export type Relay = {
  /** Its origin, for GRANTOR_WALLETCONNECT_RELAY. */
  url: string
  /** Every text that the relay received, and the address of each connection. */
  received: string[]
  connections: number
  /** Ends all connections and refuses new ones, until `restart`. */
  stop(): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startRelay(): Promise<Relay> {
  const clients = new Set<Client>()
  const kept: { message: Message; from: string }[] = []
  const received: string[] = []
  let calls = 0

  const deliver = ({ peer }: Client, message: Message): void =>
    peer.send(
      JSON.stringify({
        jsonrpc: '2.0',
        id: Date.now() * 1000 + (calls++ % 1000),
        method: 'irn_subscription',
        params: { id: message.topic, data: message },
      }),
    )
  const publish = (from: Client, message: Message): void => {
    kept.push({ message, from: from.id })
    for (const client of clients) if (client !== from && client.topics.has(message.topic)) deliver(client, message)
  }
  const subscribe = (client: Client, topic: string): string => {
    const isNew = !client.topics.has(topic)
    client.topics.add(topic)
    if (isNew) for (const { message, from } of kept) if (message.topic === topic && from !== client.id) deliver(client, message)
    return topic
  }
  const keptFor = (client: Client, topics: string[]): Message[] =>
    kept.filter(({ message, from }) => from !== client.id && topics.includes(message.topic)).map(({ message }) => message)

  const answer = (client: Client, method: string, params: Params): unknown => {
    const publishedAt = Date.now()
    switch (method) {
      case 'irn_publish':
        publish(client, { topic: params.topic, message: params.message, tag: params.tag, publishedAt })
        return true
      case 'irn_subscribe':
        return subscribe(client, params.topic)
      case 'irn_batchSubscribe':
        return params.topics.map((topic) => subscribe(client, topic))
      case 'irn_fetchMessages':
        return { messages: keptFor(client, [params.topic]), hasMore: false }
      case 'irn_batchFetchMessages':
        return { messages: keptFor(client, params.topics), hasMore: false }
      case 'irn_unsubscribe':
        return client.topics.delete(params.topic)
      // The relay subscribes and publishes for the client in one call
      case 'wc_proposeSession':
        subscribe(client, String(params.pairingTopic))
        publish(client, { topic: String(params.pairingTopic), message: String(params.sessionProposal), tag: 1100, publishedAt })
        return true
      case 'wc_approveSession':
        subscribe(client, String(params.sessionTopic))
        publish(client, {
          topic: String(params.pairingTopic),
          message: String(params.sessionProposalResponse),
          tag: 1101,
          publishedAt,
        })
        publish(client, {
          topic: String(params.sessionTopic),
          message: String(params.sessionSettlementRequest),
          tag: 1102,
          publishedAt,
        })
        return true
      default:
        throw new Error(`the relay of the tests does not know ${method}`)
    }
  }

  const start = (port?: number) =>
    startWebSocketServer(({ url = '' }, peer) => {
      received.push(url)
      const client: Client = { id: clientIdOf(url), peer, topics: new Set() }
      clients.add(client)
      return {
        message(text) {
          received.push(text)
          const { id, method, params } = JSON.parse(text) as Call
          // Without a method, the message confirms a delivery
          if (method !== undefined) peer.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer(client, method, params) }))
        },
        closed: () => void clients.delete(client),
      }
    }, port)
  let server = await start()
  const { url } = server
  return {
    url,
    received,
    get connections() {
      return clients.size
    },
    stop: () => server.close(),
    restart: async () => void (server = await start(Number(new URL(url).port))),
    close: () => server.close(),
  }
}

/** The key of the client, from the JWT with which it connects. */
function clientIdOf(url: string): string {
  const [, payload = ''] = (new URL(url, 'ws://relay').searchParams.get('auth') ?? '').split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss: string }).iss
}

type WebSocketPeer = { send(text: string): void; close(): void }

type Handlers = { message(text: string): void; closed(): void }

type WebSocketServer = { url: string; close(): Promise<void> }

const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10

/** A WebSocket server on loopback for text messages (RFC 6455). `port`: that of an earlier server, or 0 for a free one. */
async function startWebSocketServer(
  accept: (request: IncomingMessage, peer: WebSocketPeer) => Handlers,
  port = 0,
): Promise<WebSocketServer> {
  const server = createServer((_request, response) => response.writeHead(426).end())
  const sockets = new Set<Duplex>()
  server.on('upgrade', (request, socket) => {
    sockets.add(socket)
    const accepted = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted.digest('base64')}\r\n\r\n`,
    )
    const peer = { send: (text: string) => void socket.write(frame(TEXT, Buffer.from(text))), close: () => void socket.destroy() }
    const handlers = accept(request, peer)
    readFrames(socket, handlers.message)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      handlers.closed()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Calls `message` for each text, whose frames may arrive in pieces (§5.2, §5.4). */
function readFrames(socket: Duplex, message: (text: string) => void): void {
  let received = Buffer.alloc(0)
  let parts: Buffer[] = []
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data])
    for (let next = readFrame(received); next !== null; next = readFrame(received)) {
      received = received.subarray(next.size)
      if (next.opcode === CLOSE) return void socket.end(frame(CLOSE, next.payload))
      if (next.opcode === PING) socket.write(frame(PONG, next.payload))
      if (next.opcode >= CLOSE) continue
      parts.push(next.payload)
      if (!next.isLast) continue
      message(Buffer.concat(parts).toString('utf8'))
      parts = []
    }
  })
}

type Frame = { opcode: number; isLast: boolean; payload: Buffer; size: number }

/** The first frame of `bytes`, or null if the frame is not complete. A client masks its frames (§5.3). */
function readFrame(bytes: Buffer): Frame | null {
  const [first = 0, second = 0] = bytes
  const short = second & 127
  const start = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < start + 4) return null
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  const size = start + 4 + length
  if (bytes.length < size) return null
  const mask = bytes.subarray(start, start + 4)
  const payload = Buffer.from(bytes.subarray(start + 4, size).map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return { opcode: first & 15, isLast: first >= 128, payload, size }
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  if (length < 126) return Buffer.concat([Buffer.of(128 | opcode, length), payload])
  // The shortest form is required
  if (length < 65_536) return Buffer.concat([Buffer.of(128 | opcode, 126, length >> 8, length & 255), payload])
  const head = Buffer.alloc(10)
  head.writeUInt8(128 | opcode)
  head.writeUInt8(127, 1)
  head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, payload])
}
