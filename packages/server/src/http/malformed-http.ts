/**
 * Requests that reach no route: those that Node's HTTP parser refuses, `CONNECT`, an `Expect` that cannot be met, and a
 * bad `Host`. The response is JSON like every other refusal, with a request id, and caches must not keep it.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { networkPrefix } from '../observability/log/network.ts'
import { newRequestId } from '../observability/log/request-log.ts'
import { createServer, STATUS_CODES } from './node-http.ts'

export type MalformedStatus = 400 | 405 | 408 | 413 | 417 | 431

const DESCRIPTION: Record<MalformedStatus, string> = {
  400: 'This is not an HTTP request that can be read.',
  405: 'This server is not a proxy: CONNECT is not allowed.',
  408: 'The request did not arrive completely in time.',
  413: 'A chunk extension of the body is too long.',
  417: 'The only expectation that can be met is 100-continue.',
  431: 'The header fields are too long.',
}

export type MalformedHttpOptions = {
  /** epoch seconds; without a clock the responses have no `Date` (RFC 9110 §6.6.1) */
  now?: () => number
  /** called once for each refusal, for the log */
  note?: (refusal: MalformedHttp) => void
  /** the response as JSON; an error of RFC 6749 §5.2 unless given */
  write?: (refusal: { status: MalformedStatus; description: string; requestId: string }) => { type: string; body: object }
}

export type MalformedHttp = {
  reason: `http_${MalformedStatus}`
  requestId: string
  /** the first part of the address at the other end of the connection, which may be a proxy */
  network: string | undefined
}

const HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
  connection: 'close',
}

/** Listeners for a Node server. Fastify takes `clientError` as `clientErrorHandler`. */
export function malformedHttp(options: MalformedHttpOptions = {}) {
  /** The parser reports every further chunk of a connection that it has refused. */
  const refused = new WeakSet<Duplex>()

  /**
   * Writes the response to the socket, because there is no response object. A response to an earlier request is sent
   * first: otherwise the client would take the refusal for that response.
   */
  function refuse(socket: Duplex, status: MalformedStatus): void {
    const earlier = responseOn(socket)
    if (earlier?.req.complete) earlier.once('close', () => refuse(socket, status))
    else if (!socket.writable) return
    else if (earlier?.headersSent) socket.destroy()
    else {
      const { headers, body } = answerTo(status, socket, options)
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head, '', body].join('\r\n'))
      closeSoon(socket)
    }
  }

  function respond(response: ServerResponse, status: MalformedStatus): void {
    const { headers, body } = answerTo(status, response.socket, options)
    response.writeHead(status, headers).end(body)
  }

  return {
    clientError(error: NodeJS.ErrnoException, socket: Duplex): void {
      const status = statusOf(error.code)
      // A connection that was opened in advance and never used has no request to respond to.
      const isUnused = (socket as Socket).bytesRead === 0
      if (status === undefined || isUnused) socket.destroy()
      else if (!refused.has(socket)) refuse(socket, status)
      refused.add(socket)
    },
    /** Without a listener Node destroys the connection. */
    connect(_request: IncomingMessage, socket: Duplex): void {
      socket.on('error', () => socket.destroy())
      socket.resume()
      refuse(socket, 405)
    },
    checkExpectation: (_request: IncomingMessage, response: ServerResponse) => respond(response, 417),
    respond,
  }
}

/** A server without a framework that refuses the same requests in the same way. */
export function createPlainServer(listener: RequestListener): Server {
  const { clientError, connect, checkExpectation, respond } = malformedHttp()
  return createServer({ requireHostHeader: false }, (request, response) => {
    if (hasValidHost(request)) listener(request, response)
    else respond(response, 400)
  })
    .on('clientError', clientError)
    .on('connect', connect)
    .on('checkExpectation', checkExpectation)
}

/** Undefined if the connection broke or is not HTTP: then a response would not be read. */
function statusOf(code = ''): MalformedStatus | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  return code.startsWith('HPE_') ? 400 : undefined
}

function answerTo(
  status: MalformedStatus,
  socket: Duplex | null,
  { now, note, write = oauthError }: MalformedHttpOptions,
): { headers: Record<string, string>; body: string } {
  const requestId = newRequestId()
  const network = networkPrefix((socket as Socket | null)?.remoteAddress) || undefined
  note?.({ reason: `http_${status}`, requestId, network })
  const written = write({ status, description: DESCRIPTION[status], requestId })
  const body = JSON.stringify(written.body)
  const headers = {
    ...(now && { date: new Date(now() * 1000).toUTCString() }),
    'content-type': `${written.type}; charset=utf-8`,
    ...HEADERS,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    // RFC 9110 §10.2.1: an empty list, because the target of CONNECT is another server, and no method is allowed on it.
    ...(status === 405 && { allow: '' }),
  }
  return { headers, body }
}

function oauthError({ description }: { description: string }): { type: string; body: object } {
  return { type: 'application/json', body: { error: 'invalid_request', error_description: description } }
}

/**
 * The response in progress on a connection. Node has no public name for it; Node's own handler of these errors reads it
 * too.
 */
function responseOn(socket: Duplex): ServerResponse | null | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage
}

/**
 * Milliseconds. RFC 9112 §9.6: a connection that is closed with unread bytes is reset, and the reset can destroy the
 * response on its way.
 */
const LINGER = 1_000

function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER)
  socket.once('close', () => clearTimeout(timer))
}

/** RFC 9112 §3.2: the request has several Host fields, none, or one that is not a host. */
export class MalformedHost extends Error {
  override readonly name = 'MalformedHost'
  readonly statusCode = 400
}

/** RFC 3986 §3.2.2, and a port. An empty host is invalid: RFC 9110 §4.2.1. */
const HOST = /^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

export function requireHost(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw }, reply, done) => {
    if (hasValidHost(raw)) return done()
    void reply.header('connection', 'close')
    done(new MalformedHost())
  })
}

/** Node joins or drops repeated fields, so this function counts the raw fields. HTTP/1.0 has no Host. */
function hasValidHost({ rawHeaders, headers: { host }, httpVersion }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion === '1.0'
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count === 1 && HOST.test(host)
}
