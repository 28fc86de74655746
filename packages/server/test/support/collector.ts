/** An OpenTelemetry collector: it receives traces as JSON over HTTP. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

type Attribute = { key: string; value: { stringValue?: string; intValue?: number | string } }
type ExportedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  flags?: number
  attributes: Attribute[]
  status: { code?: number }
}
type Exported = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: ExportedSpan[] }[] }[] }

export type CollectedSpan = Omit<ExportedSpan, 'attributes'> & {
  facts: Record<string, unknown>
  service: unknown
  version: unknown
  instance: unknown
}

export type Collector = {
  url: string
  spans: CollectedSpan[]
  /** the bodies as they were received */
  bodies: string[]
  headers: IncomingHttpHeaders[]
  /** answers a request; 200 unless it is replaced */
  answer(response: ServerResponse): void
  close(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      collector.bodies.push(body)
      collector.headers.push(request.headers)
      collector.spans.push(...spansOf(JSON.parse(body) as Exported))
      collector.answer(response)
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    bodies: [],
    headers: [],
    answer: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => void server.close(() => resolve()))
    },
  }
  return collector
}

function spansOf({ resourceSpans }: Exported): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const of = factsOf(resource.attributes)
    const own = { service: of['service.name'], version: of['service.version'], instance: of['service.instance.id'] }
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, ...span }) => ({ ...span, facts: factsOf(attributes), ...own })),
    )
  })
}

function factsOf(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))
}
