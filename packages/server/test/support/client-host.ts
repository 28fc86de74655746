/** A client's server on loopback, for its metadata, its keys or its logout endpoint, which can also misbehave. Records requests and connections. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './certificates.ts'
import type { TestClient } from './start.ts'

export type ClientHost = {
  port: number
  /** http or https, by the name of localhost */
  origin: string
  requests: { method: string; path: string; body: string; headers: IncomingMessage['headers'] }[]
  /** the number of connections, with or without a request */
  connections: () => number
  /** sets the response from now on */
  answer: (request: IncomingMessage, response: ServerResponse) => void
  close(): Promise<void>
}

type HostOptions = {
  /** true for the certificate that the services of tests trust */
  tls?: boolean | { cert: string; key: string }
}

export async function startClientHost(answer: RequestListener, { tls = false }: HostOptions = {}): Promise<ClientHost> {
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
  const trusted = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }
  const server = tls ? createTlsServer(tls === true ? trusted : tls, listener) : createServer(listener)
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

/** Starts a server for one test, and closes the server at its end. */
export async function aClientHost(answer: RequestListener, options = {}): Promise<ClientHost> {
  const host = await startClientHost(answer, options)
  onTestFinished(() => host.close())
  return host
}

export type MetadataClient = { client: TestClient; redirectUri: string; close(): Promise<void> }

/** A client that is not registered: it publishes its metadata document on this machine. */
export async function startMetadataClient({ redirectUri = 'http://localhost:33418/callback' } = {}): Promise<MetadataClient> {
  const host = await startClientHost((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  const id = `${host.origin}/client.json`
  const document = {
    client_id: id,
    client_name: 'Agent Tools',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
  return {
    client: { id, secret: '', redirectUris: [redirectUri] } as unknown as TestClient,
    redirectUri,
    close: () => host.close(),
  }
}
