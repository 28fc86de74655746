/**
 * One keep-alive HTTP/1.1 connection. It sends prepared requests and reads complete responses.
 *
 * Node's own HTTP clients use more time for a request than a fast server does, so the figures would show the client. This connection
 * reads only what the measured servers send: a status line, headers with `Content-Length`, a body.
 */
import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'

export type Answer = { status: number; head: string; body: string }

export type Connection = {
  /** sends one request; the next one may follow after the response */
  send(request: string): void
  close(): void
}

const BUFFER = 64 * 1024

/** Calls `onAnswer` with each complete response, and `onFailure` if the connection is lost or a response cannot be read. */
export async function connect(
  port: number,
  onAnswer: (answer: Answer) => void,
  onFailure: (error: Error) => void,
): Promise<Connection> {
  let text = ''
  const hear = (length: number, bytes: Buffer): boolean => {
    const piece = bytes.toString('latin1', 0, length)
    text = text === '' ? piece : text + piece
    try {
      const answer = readAnswer(text)
      if (!answer) return true
      text = ''
      onAnswer(answer)
    } catch (error) {
      onFailure(error as Error)
    }
    return true
  }
  const onread = { buffer: Buffer.alloc(BUFFER), callback: hear as (length: number, bytes: Uint8Array) => boolean }
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true, onread })
  await once(socket, 'connect')
  let open = true
  socket.on('error', onFailure)
  socket.on('close', () => {
    if (open) onFailure(new Error('the server closed a connection under load'))
  })
  return {
    send: (request) => void socket.write(request, 'latin1'),
    close() {
      open = false
      socket.destroy()
    },
  }
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
