/** Many readers of the feed in one process, which open and close their connections together, for `feed/readers.ts`. */
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'

export type ConnectionsTask = { port: number; authorization: string; readers: number } | 'close' | 'count'
/** `messages` and `bytes`: since the last report */
export type ConnectionsReport = { open: number; messages: number; bytes: number }

/** Connections that are opened in one turn. */
const AT_ONCE = 50

// The readers share a core with the load, which measures latency. On other machines they would not delay it.
setPriority(19)

const sockets = new Set<Socket>()
let messages = 0
let bytes = 0
const OK = Buffer.from('HTTP/1.1 200')
const buffer = Buffer.alloc(64 * 1024)

process.on('message', (task: ConnectionsTask) => void obey(task))
process.once('disconnect', () => process.exit(0))

async function obey(task: ConnectionsTask): Promise<void> {
  if (task === 'close') {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  } else if (task !== 'count') {
    for (let begun = 0; begun < task.readers; begun += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, task.readers - begun) }, () => openReader(task))
      await Promise.all(some)
    }
  }
  const report: ConnectionsReport = { open: sockets.size, messages, bytes }
  messages = 0
  bytes = 0
  process.send?.(report)
}

/** Resolves at the first message. */
function openReader({ port, authorization }: { port: number; authorization: string }): Promise<void> {
  const first = Promise.withResolvers<void>()
  let isBegun = false
  const accept = (length: number, read: Uint8Array): boolean => {
    const text = Buffer.from(read.buffer, read.byteOffset, length)
    bytes += length
    if (!isBegun && !text.subarray(0, 12).equals(OK)) first.reject(new Error(text.subarray(0, 40).toString('latin1')))
    isBegun = true
    for (let at = text.indexOf('data: '); at >= 0; at = text.indexOf('data: ', at + 1)) messages++
    first.resolve()
    return true
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback: accept } })
  const headers = `Host: localhost\r\nAuthorization: ${authorization}\r\nAccept: text/event-stream\r\n`
  socket.once('connect', () => void socket.write(`GET /oauth/endings HTTP/1.1\r\n${headers}\r\n`))
  socket.on('error', first.reject)
  socket.on('close', () => sockets.delete(socket))
  sockets.add(socket)
  return first.promise
}
