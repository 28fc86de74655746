/**
 * One keep-alive HTTP/1.1 connection. It sends prepared requests and reads complete responses.
 *
 * Node's own HTTP clients use more time for a request than a fast server does, so the figures would show the client. This connection
 * reads only what the measured servers send: a status line, headers with `Content-Length`, a body.
 */
import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'

export type Answer = { status: number; head: string; body: string }

export type Connection = {
  /** sends one request; the next one may follow after the response */
  send(request: string): void
  close(): void
}

const BUFFER = 64 * 1024

/**
 * Calls `onAnswer` with each complete response, and `onFailure` if the connection is lost under a request or a response cannot be read.
 *
 * A server may close a connection without a request at any time (RFC 9112 §9.5): Grantor closes one that was not used for 30 seconds, and
 * one that is idle for 72 seconds. The next request then opens another one. A server that closes a connection with a request in progress fails.
 */
export async function connect(
  port: number,
  onAnswer: (answer: Answer) => void,
  onFailure: (error: Error) => void,
): Promise<Connection> {
  let text = ''
  let sentAt: number | null = null
  const hear = (length: number, bytes: Buffer): boolean => {
    const piece = bytes.toString('latin1', 0, length)
    text = text === '' ? piece : text + piece
    try {
      const answer = readAnswer(text)
      if (!answer) return true
      text = ''
      sentAt = null
      onAnswer(answer)
    } catch (error) {
      onFailure(error as Error)
    }
    return true
  }
  const onread = { buffer: Buffer.alloc(BUFFER), callback: hear as (length: number, bytes: Uint8Array) => boolean }
  function open(): Socket {
    const opened = connectSocket({ port, host: '127.0.0.1', noDelay: true, onread })
    const onEnd = () => {
      if (opened !== socket) return
      socket = null
      if (sentAt !== null) onFailure(closedUnder(performance.now() - sentAt, text))
    }
    const onError = (error: Error) => {
      if (opened === socket && sentAt !== null) onFailure(error)
    }
    return opened.on('error', onError).on('end', onEnd).on('close', onEnd)
  }
  let socket: Socket | null = open()
  await once(socket, 'connect')
  return {
    send(request) {
      sentAt = performance.now()
      socket ??= open()
      socket.write(request, 'latin1')
    },
    close() {
      const last = socket
      socket = null
      last?.destroy()
    },
  }
}

function closedUnder(milliseconds: number, received: string): Error {
  const how = `${milliseconds.toFixed(0)} ms after a request, with ${received.length} bytes of the response`
  return new Error(`the server closed a connection under load: ${how}`)
}

/** The response, if all of it has arrived. */
export function readAnswer(text: string): Answer | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = text.slice(0, headEnd)
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head.slice(0, 40)}`)
  const end = headEnd + 4 + Number(length)
  if (text.length < end) return undefined
  if (text.length > end) throw new Error('an answer is longer than its Content-Length')
  return { status: Number(text.slice(9, 12)), head, body: text.slice(headEnd + 4) }
}
