/** A server on a real socket that sends the feed of endings by docs/reference/feed.md, with messages that a test can change. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { audience, type LittleIssuer, startLittleIssuer } from '../little-issuer.ts'

type Connection = {
  cursor: string | undefined
  authorization: string | undefined
  /** until the first message */
  nonce: string | undefined
  response: ServerResponse
  until: number
}
type Claims = Record<string, unknown>

/** Milliseconds between two messages. */
const EVERY = 150

export class FeedServer {
  readonly issuer: LittleIssuer
  /** every connection so far */
  readonly connections: Connection[] = []
  /** those of all requests so far */
  readonly nonces: (string | undefined)[] = []
  /** Milliseconds by which the server's clock is ahead of this machine's clock. */
  clockAhead = 0
  feed = 'run-1'
  /** Replaces what the server does with the next connections. */
  instead: ((connection: Connection) => unknown) | undefined
  /** Whether the server sends messages by itself. */
  isSending = true
  #ended: { at: number; entry: Buffer }[] = []
  readonly #timer: NodeJS.Timeout

  constructor(issuer: LittleIssuer) {
    this.issuer = issuer
    issuer.answerEndings = (request, response) => void this.#connect(request, response)
    this.#timer = setInterval(() => void this.#sendToAll(), EVERY)
  }

  get open(): Connection[] {
    return this.connections.filter(({ response }) => !response.destroyed && response.headersSent)
  }

  introspections(): number {
    return this.issuer.requests.filter(({ path }) => path.endsWith('/introspect')).length
  }

  /** A token of a user, with the ids that the feed needs. */
  async token(claims: { grant_id: string; jti: string } & Claims): Promise<string> {
    return await this.issuer.sign(claims)
  }

  end(id: string): void {
    this.#ended.push({ at: this.now(), entry: Buffer.from(id.replaceAll('-', ''), 'hex') })
  }

  forgetEndings(): void {
    this.#ended = []
  }

  now(): number {
    return Date.now() + this.clockAhead
  }

  /** The next message of a connection, signed; `claims` replace the usual claims. */
  async message(connection: Connection, claims: Claims = {}, header: { typ?: string; kid?: string } = {}): Promise<string> {
    const { issuer, feed } = this
    const at = this.now()
    const from = connection.until === 0 ? null : connection.until
    const entries = this.#ended.filter(({ at }) => from === null || at >= from).map(({ entry }) => entry)
    const later = String(Math.ceil(at / 1000) + 660)
    const usual = {
      iss: issuer.url,
      aud: audience,
      iat: Math.floor(at / 1000),
      at,
      ...(connection.nonce === undefined ? {} : { nonce: connection.nonce }),
      feed,
      from,
      until: at,
      lifetime: 600,
      ...(from === null ? { part: [1, 1] } : {}),
      keys: ['ES256'],
      ...(entries.length === 0 ? {} : { ended: { [later]: Buffer.concat(entries).toString('base64url') } }),
    }
    return await issuer.signClaims({ ...usual, ...claims }, { typ: 'endings+jwt', ...header })
  }

  async send(connection: Connection, claims?: Claims, header?: { typ?: string; kid?: string }): Promise<void> {
    const until = this.now()
    const message = await this.message(connection, { at: until, until, ...claims }, header)
    connection.until = until
    connection.nonce = undefined
    connection.response.write(`id: ${until}.${this.feed}\ndata: ${message}\n\n`)
  }

  /** Starts a response whose events the test writes. */
  begin({ response }: Connection): ServerResponse {
    return response.writeHead(200, { 'content-type': 'text/event-stream' })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.issuer.close()
  }

  async #connect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { 'last-event-id': lastEventId, authorization } = request.headers
    const cursor = typeof lastEventId === 'string' ? lastEventId : undefined
    const [until, feed] = cursor?.split('.') ?? []
    const nonce = new URL(request.url ?? '', 'http://localhost').searchParams.get('nonce') ?? undefined
    const connection = { cursor, authorization, nonce, response, until: feed === this.feed ? Number(until) : 0 }
    this.connections.push(connection)
    this.nonces.push(nonce)
    if (this.instead) return void this.instead(connection)
    this.begin(connection)
    await this.send(connection)
  }

  async #sendToAll(): Promise<void> {
    if (!this.isSending || this.instead) return
    for (const connection of this.open) if (connection.until > 0) await this.send(connection)
  }
}

export async function startFeedServer(): Promise<FeedServer> {
  const issuer = await startLittleIssuer()
  issuer.clock.now = Math.floor(Date.now() / 1000)
  return new FeedServer(issuer)
}
