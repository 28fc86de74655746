/** A WebSocket server on loopback for text messages of any length (RFC 6455), as far as the clients of the tests need one. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

export type WebSocketPeer = { send(text: string): void; close(): void }

type Handlers = { message(text: string): void; closed(): void }

export type WebSocketServer = { url: string; close(): Promise<void> }

const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10

/** `port`: that of an earlier server, or 0 for a free one. */
export async function startWebSocketServer(
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
