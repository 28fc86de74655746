/** HTTP as bytes on a socket, for requests that no client library sends, and for responses that are compared byte by byte. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Answer } from './send.ts'
import { TEST_CERTIFICATE } from './tls-certificate.ts'

/**
 * Sends bytes to `origin`, over TLS with the test certificate if `origin` is https. Reads until the server ends the connection, or sends
 * nothing for `quiet` ms.
 */
export function rawExchange(origin: string, bytes: string | Uint8Array, quiet = 2000): Promise<string> {
  const { protocol, port } = new URL(origin)
  const address = { port: Number(port), host: '127.0.0.1' }
  return new Promise((resolve, reject) => {
    const socket =
      protocol === 'https:' ? connectTls({ ...address, servername: 'localhost', ca: TEST_CERTIFICATE }) : connect(address)
    let received = ''
    socket.setTimeout(quiet, () => socket.destroy())
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    // A server that closes the connection while this client still writes may have responded before.
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNREFUSED' ? reject(error) : undefined))
    socket.on('close', () => resolve(received))
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  })
}

/** Sends one request with these header lines unchanged, and closes the connection afterwards. */
export async function rawRequest(origin: string, method: string, path: string, headers: string[], body = ''): Promise<Answer> {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`]
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(origin).host}`, 'Connection: close', ...headers, ...length]
  return parseAnswer(await rawExchange(origin, `${lines.join('\r\n')}\r\n\r\n${body}`))
}

/** Parses the first response in the received bytes. */
export function parseAnswer(received: string): Answer {
  const [head = '', body = ''] = received.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const text = Buffer.from(body, 'latin1').toString('utf8')
  return {
    status: Number(statusLine.split(' ')[1] ?? 0),
    headers,
    body: text,
    location: headers.location ?? '',
    json: () => JSON.parse(text) as Record<string, unknown>,
  }
}
