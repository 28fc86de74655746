/**
 * The id of a request, and one line per completed request: method, route, status, duration, request id, the first part of the caller's
 * address, and the client if it is known. Never a query, a header, a body or a complete address. The id is in the response
 * (`X-Request-Id`), in the request line (`reqId`) and in the audit lines (`request_id`).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Logger, symbols } from 'pino'
import type { Metrics } from '../metrics/metrics.ts'
import { networkPrefix } from './network.ts'

/** For fastify's `genReqId`. The caller's own X-Request-Id is ignored: otherwise any caller could write into the log. */
export function newRequestId(): string {
  return randomUUID()
}

/** What lines of the log name of a request. */
type RequestFacts = {
  id: string
  traceId: string | undefined
  /** the caller's address, which may be that of another server that sent the request for the caller */
  address: string
  /** the client that sent the request, or that the request is about */
  clientId: string | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null before the handler */
    facts: RequestFacts | null
    /** if the request is traced */
    traceId: string | undefined
    /** true if the response is 503 because the server of a client is away, which any caller can cause */
    isClientAway: boolean
  }
}

// Not the request itself. Node sets the idle timeout of a connection in the context of its last request, so each idle connection would
// keep that request and its response in memory, until they reach the old generation of the heap.
const context = new AsyncLocalStorage<RequestFacts>()

/** The id of the request that this code runs for; undefined in background work. */
export function currentRequestId(): string | undefined {
  return context.getStore()?.id
}

/** The id of the trace of the current request; undefined if the request is not traced. */
export function currentTraceId(): string | undefined {
  return context.getStore()?.traceId
}

/** The first part of the caller's address, such as `203.0.113`; undefined in background work, and if the address is unknown. */
export function currentNetwork(): string | undefined {
  const facts = context.getStore()
  return facts && (networkPrefix(facts.address) || undefined)
}

/** The same for a request that is refused before its handler: `currentNetwork` is undefined then. */
export function networkOfCaller(request: FastifyRequest): string | undefined {
  return networkPrefix(addressOf(request)) || undefined
}

// Reading `ip` compares the trusted proxies each time.
const addressOf = (request: FastifyRequest): string => request.facts?.address ?? request.ip

/** The caller's address, if another server sent the request for the caller. */
export function noteCallerAddress(ip: string): void {
  const facts = context.getStore()
  if (facts) facts.address = ip
}

/** The client of the current request, for its line. */
export function noteClient(id: string): void {
  const facts = context.getStore()
  if (facts) facts.clientId = id
}

/** Adds the request log to a server whose own request logging is off, and counts requests if there are metrics. */
export function logRequests(server: FastifyInstance, metrics?: Pick<Metrics, 'observeRequest' | 'expectRoute'>): void {
  server.decorateRequest('facts', null)
  server.decorateRequest('traceId', undefined)
  server.decorateRequest('isClientAway', false)
  server.addHook('onRequest', (request, reply, done) => {
    done(void reply.header('x-request-id', request.id))
  })
  // After the body: the body's events come from the connection and would lose the id.
  server.addHook('preHandler', (request, _reply, done) => {
    const { id, traceId, ip } = request
    const facts: RequestFacts = { id, traceId, address: ip, clientId: undefined }
    request.facts = facts
    context.run(facts, done)
  })
  server.addHook('onRoute', ({ url: route, method: methods }) => {
    for (const method of [methods].flat()) metrics?.expectRoute({ route, method })
  })
  const writeLine = writingLines(server.log as Logger)
  server.addHook('onResponse', (request, reply, done) => {
    writeLine(request, reply)
    const { elapsedTime, statusCode: status } = reply
    const { method, isClientAway } = request
    metrics?.observeRequest({ route: routeOf(request), method, status, seconds: elapsedTime / 1000, isClientAway })
    done()
  })
}

/** The route's pattern, not the requested path: the caller chooses the path, which may contain anything. */
const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? 'unmatched'

/** What `createLogger` gives pino to write to. */
export type LogStream = {
  redact(text: string): string
  /** writes a line in which everything that needs it is redacted */
  writeRedacted(line: string): void
}

/** The number of callers whose part of the line is kept. */
const CALLERS_AT_MOST = 1000

/**
 * Returns a function that writes the line of a request, in the form that pino would write. The line is a template: to serialize and redact
 * each line takes 5 to 8 µs, a tenth of an introspection, and the template takes 0.7 µs (docs/evidence/performance.md). The texts from outside,
 * which are the network and the client, are serialized and redacted once for each caller.
 */
function writingLines(logger: Logger): (request: FastifyRequest, reply: FastifyReply) => void {
  const { [symbols.streamSym]: stream, [symbols.timeSym]: time } = logger as unknown as {
    [symbols.streamSym]: LogStream
    [symbols.timeSym]: () => string
  }
  const isWritten = { info: logger.isLevelEnabled('info'), debug: logger.isLevelEnabled('debug') }
  const callers = new Map<string, string>()

  function partOfCaller(request: FastifyRequest): string {
    const clientId = request.facts?.clientId
    const key = `${addressOf(request)} ${clientId}`
    let part = callers.get(key)
    if (part === undefined) {
      if (callers.size >= CALLERS_AT_MOST) callers.clear()
      part = stream.redact(JSON.stringify({ network: networkOfCaller(request), client_id: clientId, msg: 'request' })).slice(1)
      callers.set(key, part)
    }
    return part
  }

  return (request, { elapsedTime, statusCode }) => {
    const route = routeOf(request)
    const level = route.startsWith('/health/') ? 'debug' : 'info'
    if (!isWritten[level]) return
    // The bindings are the id of the request, the number of the worker and the id of the trace, as members that begin with a comma.
    const { [symbols.chindingsSym]: bindings } = request.log as unknown as { [symbols.chindingsSym]: string }
    const head = `{"level":"${level}"${time()}${bindings},"method":"${request.method}","route":${JSON.stringify(route)}`
    const ms = Math.round(elapsedTime * 10) / 10
    stream.writeRedacted(`${head},"status":${statusCode},"ms":${ms},${partOfCaller(request)}\n`)
  }
}
