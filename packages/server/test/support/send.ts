/**
 * One HTTP request over a real socket, byte for byte: no URL is normalised, no redirect is followed, no cookie is kept. `rawExchange` sends
 * bytes, for requests that no client library sends, and for responses that are compared byte by byte.
 */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { TEST_CERTIFICATE } from './certificates.ts'

export type Request = {
  method?: string
  /** path and query, one character for each byte (latin1) */
  path: string
  headers?: Record<string, string | string[]>
  body?: string | Uint8Array
  /** the loopback address of the client, such as 127.0.0.2 */
  from?: string
}

export type Answer = {
  status: number
  headers: IncomingHttpHeaders
  body: string
  /** the Location header, or '' */
  location: string
  json(): Record<string, unknown>
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Closes the connections to all servers, which is necessary before another server takes over a port. */
export function hangUp(): void {
  agent.destroy()
}

/** Sends a request to `origin` (`http://localhost:4000`), with any path. */
export function send(origin: string, { method = 'GET', path, headers = {}, body, from }: Request): Promise<Answer> {
  const { port } = new URL(origin)
  // Node would send the body of a DELETE without its length, and the server would parse the body as the next request.
  const length = body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent,
        headers: { host: `localhost:${port}`, ...length, ...headers },
        localAddress: from,
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: text,
            location: response.headers.location ?? '',
            json: () => JSON.parse(text) as Record<string, unknown>,
          })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

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
