/** A server as a client runs one, on loopback: its keys, its logout endpoint, or something that misbehaves. Counts who called. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './tls-certificate.ts'

export type ClientHost = {
  port: number
  /** http or https, by the name of localhost */
  origin: string
  requests: { method: string; path: string; body: string; headers: IncomingMessage['headers'] }[]
  /** connections, asked for anything or not */
  connections: () => number
  /** what is answered from now on */
  answer: (request: IncomingMessage, response: ServerResponse) => void
  close(): Promise<void>
}

export async function startClientHost(answer: RequestListener, { tls = false } = {}): Promise<ClientHost> {
  let connections = 0
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      host.requests.push({ method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') })
      host.answer(request, response)
    })
  }
  const server = tls ? createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }, listener) : createServer(listener)
  server.on('connection', () => connections++)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const host: ClientHost = {
    port,
    origin: `${tls ? 'https' : 'http'}://localhost:${port}`,
    requests: [],
    connections: () => connections,
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return host
}

/** The same for one test, which closes it. */
export async function aClientHost(answer: RequestListener, options = {}): Promise<ClientHost> {
  const host = await startClientHost(answer, options)
  onTestFinished(() => host.close())
  return host
}
