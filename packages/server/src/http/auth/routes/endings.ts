/**
 * `/oauth/endings`: the feed of endings for resource servers (docs/reference/feed.md), as a stream of server-sent events or as JSON after
 * a wait. The caller authenticates as at the introspection endpoint.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Batch, EndingFeed } from '../../../domain/endings/feed.ts'
import { type FeedPlace, readCursor } from '../../../domain/endings/feed-cursor.ts'
import type { FeedReader, FeedReaders } from '../../../domain/endings/feed-readers.ts'
import type { Client } from '../../../domain/model/records.ts'
import { StoreUnavailable } from '../../../domain/model/store-errors.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { invalidRequest, notAResourceServer, tooManyReaders } from '../../../protocol/oauth/oauth-error.ts'
import { namesMediaType } from '../accept.ts'
import { CREDENTIAL_PARAMETERS, forClient, presentedCredentials } from '../client-credentials.ts'
import { JSON_HEADERS } from '../error-reply.ts'
import { formParameters, parametersOf } from '../form-body.ts'
import type { HttpService } from '../service.ts'
import { readWait } from '../wait.ts'

const PATH = '/oauth/endings'
const EVENT_STREAM = 'text/event-stream'
const STREAM_HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // nginx would collect the events otherwise.
  'x-accel-buffering': 'no',
}

const FEED_PARAMETERS = ['cursor', 'wait', 'nonce'] as const
/** 16 bytes in base64url, in one spelling. */
const NONCE = /^[\w-]{21}[AQgw]$/
/** Seconds after which a stream ends, so that readers spread over new nodes. Up to a quarter less, so that they do not come back together. */
const STREAM_AT_MOST = 600
/** Milliseconds for which a reader may accept nothing. */
const UNREAD_AT_MOST = 30_000

type Feed = { feed: EndingFeed; readers: FeedReaders }
type FeedRequest = { resource: string; cursor: FeedPlace | null; nonce: string | null }

export function endingsRoutes(server: FastifyInstance, service: HttpService): void {
  // Otherwise open streams would keep the server from closing.
  server.addHook('preClose', async () => service.endings.feed.close())

  server.get(PATH, async (request, reply) => {
    // Credentials in the query are never read (RFC 6749 §2.3.1).
    const parameters = parametersOf(parseForm(queryOf(request.url)), FEED_PARAMETERS)
    const none = { client_id: null, client_secret: null, client_assertion: null, client_assertion_type: null }
    return answer(request, reply, { ...parameters, ...none })
  })
  server.post(PATH, async (request, reply) =>
    answer(request, reply, formParameters(request, [...CREDENTIAL_PARAMETERS, ...FEED_PARAMETERS])),
  )

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    parameters: Record<(typeof CREDENTIAL_PARAMETERS)[number] | (typeof FEED_PARAMETERS)[number], string | null>,
  ): Promise<FastifyReply> {
    const credentials = presentedCredentials(request, parameters)
    return forClient(service, request, credentials, 'authenticated', async (client) => {
      const { resourceServer: resource } = client
      if (resource === null) throw notAResourceServer()
      const cursor = cursorOf(parameters.cursor ?? request.headers['last-event-id'])
      const wait = readWait(parameters.wait)
      const nonce = nonceOf(parameters.nonce)
      const reader = openReader(service, client)
      const { feed } = service.endings
      if (!namesMediaType(request.headers.accept, EVENT_STREAM)) {
        const batch = await closingAfterFailure(reader, readWithin(service.endings, { resource, cursor, nonce }, wait))
        sendResponse(reply, { reader, headers: JSON_HEADERS }, (response) =>
          sendPieces(response, feed, { batch, pieces: feedBody(batch) }),
        )
        return reply
      }
      // The first messages decide the status: a feed that is not complete is 503.
      const batches = [await closingAfterFailure(reader, feed.read(resource, cursor, { isFirst: true, nonce }))]
      const stream = { client, resource, reader }
      sendResponse(reply, { reader, headers: STREAM_HEADERS }, (response) => sendEvents(response, service, stream, batches))
      return reply
    })
  }
}

function openReader({ endings: { readers }, deps, limits }: HttpService, { id }: Client): FeedReader {
  const verdict = limits.count('feed_reads', id)
  if (!verdict.allowed) throw tooManyReaders(verdict.retryAfter)
  const reader = readers.open(id)
  if (!reader) throw tooManyReaders(RETRY_AFTER)
  if (readers.mustBeNamed(id)) deps.audit({ event: 'endings_read', client_id: id })
  return reader
}

/** Seconds after which a place for another reader may be free. */
const RETRY_AFTER = 10

async function closingAfterFailure<Result>(reader: FeedReader, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    reader.close()
    throw error
  }
}

/** The first messages with news; without news, what there is after `wait` seconds. */
async function readWithin({ feed }: Feed, { resource, cursor, nonce }: FeedRequest, wait: number): Promise<Batch> {
  if (wait === 0) return feed.read(resource, cursor, { isFirst: true, nonce })
  let batch = await feed.read(resource, cursor, { isFirst: false })
  const until = performance.now() + wait * 1000
  const isOver = pauseFor(wait * 1000, undefined, { ref: false })
  while (batch.messages.length === 0 && performance.now() < until && !feed.isClosed) {
    await Promise.race([feed.next(resource, batch.cursor), isOver])
    batch = await feed.read(resource, readCursor(batch.cursor), { isFirst: false })
  }
  // The message of this response only is signed after the wait.
  return nonce === null ? batch : feed.read(resource, cursor, { isFirst: true, nonce })
}

type Response = FastifyReply['raw']
type Opened = { reader: FeedReader; headers: Record<string, string> }

/**
 * Writes to the response itself: a stream object and the pipe of Fastify take three times the memory for each reader, and there are thousands.
 */
function sendResponse(reply: FastifyReply, { reader, headers }: Opened, send: (response: Response) => Promise<void>): void {
  const { raw, log } = reply
  reply.hijack()
  raw.once('close', () => reader.close())
  // The caller may have disconnected meanwhile. Then the response has no event any more.
  if (raw.destroyed) return reader.close()
  // Ends the connection of a reader that accepts nothing. After the response, Node.js sets the timeout of idle connections again.
  raw.socket?.setTimeout(UNREAD_AT_MOST)
  raw.writeHead(200, { ...reply.getHeaders(), ...headers } as Record<string, string>)
  send(raw).then(
    () => void raw.end(),
    (error: unknown) => {
      log.error({ err: error }, 'a response of the feed failed')
      raw.destroy()
    },
  )
}

type Stream = { client: Client; resource: string; reader: FeedReader }

/**
 * The next event is made when the connection has accepted the one before, so a slow reader needs no memory. `batches` has the first messages, and
 * is emptied: a stream that kept its snapshot for ten minutes would need the memory of the snapshot.
 */
async function sendEvents(
  response: Response,
  service: HttpService,
  { client, resource, reader }: Stream,
  batches: Batch[],
): Promise<void> {
  const { feed } = service.endings
  const endsAt = performance.now() + (STREAM_AT_MOST - randomInt(STREAM_AT_MOST / 4)) * 1000
  let cursor = ''
  for (let batch = batches.pop(); batch; batch = await readOrWait(service, { client, resource }, cursor)) {
    cursor = batch.cursor
    await sendPieces(response, feed, { batch, pieces: eventsOf(batch) })
    batch = undefined
    reader.until = readCursor(cursor)?.until ?? 0
    await feed.next(resource, cursor)
    if (response.destroyed || feed.isClosed || service.isStopping?.() || performance.now() > endsAt) return
  }
}

function* eventsOf({ cursor, messages }: Batch): Generator<string> {
  for (const [index, message] of messages.entries()) {
    // Only the last part of a snapshot may be continued.
    const isLast = index === messages.length - 1
    yield isLast ? `id: ${cursor}\ndata: ${message}\n\n` : `data: ${message}\n\n`
  }
}

function* feedBody({ cursor, messages }: Batch): Generator<string> {
  yield `{"cursor":${JSON.stringify(cursor)},"messages":[`
  for (const [index, message] of messages.entries()) yield `${index === 0 ? '' : ','}${JSON.stringify(message)}`
  yield ']}'
}

/** Ends the connection if the snapshot of the batch is dropped. */
async function sendPieces(
  response: Response,
  { held }: EndingFeed,
  { batch, pieces }: { batch: Batch; pieces: Iterable<string> },
): Promise<void> {
  const endUse = batch.snapshot?.use(() => void response.destroy())
  for (const piece of pieces) {
    const hold = held.hold(piece.length, () => void response.destroy())
    if (!response.destroyed) await write(response, piece)
    held.release(hold)
    if (response.destroyed) break
  }
  endUse?.()
}

/** Resolves when the connection has accepted the piece, or is closed. */
function write(response: Response, piece: string): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('close', end)
      resolve()
    }
    response.on('close', end)
    response.write(piece, end)
  })
}

/**
 * What follows the cursor; undefined if the client may no longer read, or if another run of the feed has begun. If the store cannot be read, the stream stays open without messages, and the
 * feed of the reader becomes too old to be used.
 */
async function readOrWait(
  service: HttpService,
  { client, resource }: Pick<Stream, 'client' | 'resource'>,
  cursor: string,
): Promise<Batch | undefined> {
  try {
    if (!(await isStillReader(service, client))) return undefined
    const place = readCursor(cursor)
    const batch = await service.endings.feed.read(resource, place, { isFirst: false })
    // The nonce and the clock of the first message are those of the earlier run.
    return readCursor(batch.cursor)?.feed === place?.feed ? batch : undefined
  } catch (error) {
    if (error instanceof StoreUnavailable) return { cursor, messages: [] }
    throw error
  }
}

async function isStillReader({ deps }: HttpService, { id, resourceServer }: Client): Promise<boolean> {
  const client = await deps.clients.findRegistered(id)
  return client?.resourceServer === resourceServer
}

function cursorOf(text: string | string[] | null | undefined): FeedPlace | null {
  if (text === null || text === undefined || text === '') return null
  const cursor = typeof text === 'string' ? readCursor(text) : null
  if (!cursor) throw invalidRequest('cursor_malformed', 'cursor is not one of the feed.')
  return cursor
}

function nonceOf(text: string | null): string | null {
  if (text !== null && !NONCE.test(text)) throw invalidRequest('nonce_malformed', 'nonce is not 16 bytes in base64url.')
  return text
}
