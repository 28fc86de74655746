/** One HTTP request over a real socket, byte for byte: no URL is normalised, no redirect is followed, no cookie is kept. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

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
