/**
 * One call to an address that a client chose.
 *
 * Another party chose the server, and that party need not be trusted: the server may hang, respond at length, redirect,
 * have a name that resolves to an internal address, or lack a certificate for its name (OpenID Connect Core §16.17).
 * All of that is `unavailable`, within the timeout; nothing throws. Client ID Metadata Document §8.6 and §8.7 require the check of the
 * address and the limit of the size.
 */
import { lookup as lookupName } from 'node:dns'
import type { Agent, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'

// Not imported, because an import would load undici (ops/http/node-http.ts).
const { Agent: HttpAgent, request: requestHttp } = process.getBuiltinModule('node:http')

export type OutboundOptions = {
  /** on a developer's machine, clients may run on loopback and without TLS */
  allowLoopback: boolean
  /** true if the operator chose the address: https to any address, and plain http to this machine only */
  isOfOperator?: boolean
  /** from the call to the last byte of the response; 3,000 unless set */
  timeoutMs?: number
  /** maximum size of a response in bytes; 65,536 unless set */
  bodyAtMost?: number
  /** maximum number of concurrent calls; 32 unless set */
  concurrency?: number
  /** maximum number of concurrent calls to one host; as many as `concurrency` unless set */
  perHost?: number
  /** the pause between the beginnings of two calls; none unless set */
  pause?: () => Promise<unknown>
  /** the `Accept` of a GET; JSON unless set */
  accept?: string
  /** `latin1`: each byte of the body becomes one character; `utf8` unless set */
  bodyAs?: 'utf8' | 'latin1'
  /** certificates to trust in addition to the system's, PEM */
  ca?: string
  /** how names are resolved; the system's resolver unless set */
  lookup?: typeof lookupName
}

/** A GET, or a POST of a form or of `json`, which has the headers of a webhook. */
export type OutboundCall = {
  url: string
  form?: Record<string, string>
  json?: { text: string; headers: Readonly<Record<string, string>> }
}

/**
 * `headers` has the three that the callers need. `why` names the failure and contains no part of the response; `busy` means that no
 * request was sent, because too many calls were under way.
 */
export type OutboundAnswer =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string | undefined>>; body: string }
  | { kind: 'unavailable'; why: string }

export function createFetchFromClient(options: OutboundOptions): (call: OutboundCall) => Promise<OutboundAnswer> {
  const {
    allowLoopback,
    isOfOperator = false,
    timeoutMs = 3_000,
    bodyAtMost = 65_536,
    concurrency = 32,
    ca,
    lookup = lookupName,
  } = options
  const { accept = 'application/jwk-set+json, application/json', bodyAs = 'utf8' } = options
  const places = createPlaces(concurrency, options.perHost ?? concurrency)
  const pace = createPace(options.pause)
  // Separate agents: they keep no connection and ignore the proxy variables of the environment.
  const agents = { http: new HttpAgent({ keepAlive: false }), https: new HttpsAgent({ keepAlive: false }) }
  const rules = { http: ruleFor('http:', options), https: ruleFor('https:', options) }
  const lookups = { http: lookupOnly(rules.http, lookup), https: lookupOnly(rules.https, lookup) }

  async function call(to: URL, content: FetchedContent | null, signal: AbortSignal): Promise<OutboundAnswer> {
    const scheme = to.protocol === 'http:' ? 'http' : 'https'
    const allowsPlain = allowLoopback || isOfOperator
    if (scheme === 'http' ? !allowsPlain : to.protocol !== 'https:') throw new RefusedFetch('not_https')
    const host = to.hostname.replace(/^\[|\]$/g, '')
    // An IP address instead of a name is connected to without a look-up.
    if (isIP(host) !== 0 && !rules[scheme](host)) throw new RefusedFetch('address_not_public')
    const connection = { accept, agent: agents[scheme], lookup: lookups[scheme], signal }
    const answer = await send(to, content, { ...connection, ...(ca === undefined ? {} : { ca }) })
    const status = answer.statusCode ?? 0
    try {
      // If redirects were followed, the client could choose the server that this machine calls.
      if (status >= 300 && status < 400) throw new RefusedFetch('redirect')
      // A few compressed bytes can expand to gigabytes.
      if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') throw new RefusedFetch('compressed')
      const { 'content-type': type, 'cache-control': caching, age } = answer.headers
      const headers = { 'content-type': type, 'cache-control': caching, age }
      return { kind: 'answered', status, headers, body: (await readBody(answer, bodyAtMost)).toString(bodyAs) }
    } finally {
      answer.destroy()
    }
  }

  return async ({ url, ...sent }) => {
    if (!URL.canParse(url)) return { kind: 'unavailable', why: 'not_https' }
    const to = new URL(url)
    if (!places.take(to.hostname)) return { kind: 'unavailable', why: 'busy' }
    try {
      await pace()
      // The timeout includes the look-up and reading the body, so a slow response ends as well.
      const signal = AbortSignal.timeout(timeoutMs)
      return await Promise.race([call(to, contentOf(sent), signal), overdue(signal)])
    } catch (error) {
      return { kind: 'unavailable', why: reasonOf(error) }
    } finally {
      places.free(to.hostname)
    }
  }
}

/** Whether a call to this URL could be sent. A name is not resolved: only its addresses at the time of the call count. */
export function isCallable(url: string, options: Pick<OutboundOptions, 'allowLoopback' | 'isOfOperator'>): boolean {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 || ruleFor(protocol === 'http:' ? 'http:' : 'https:', options)(host)
}

/** Which addresses a call may connect to. */
function ruleFor(
  protocol: 'http:' | 'https:',
  { allowLoopback, isOfOperator }: Pick<OutboundOptions, 'allowLoopback' | 'isOfOperator'>,
): (address: string) => boolean {
  if (isOfOperator) return protocol === 'https:' ? () => true : isLoopbackAddress
  return (address) => isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address))
}

/** Counts the calls under way, in total and by host, so that one host that hangs leaves places for calls to other hosts. */
function createPlaces(atMost: number, perHost: number) {
  const taken = new Map<string, number>()
  let total = 0
  return {
    /** False if no place is free. */
    take(host: string): boolean {
      const atHost = taken.get(host) ?? 0
      if (total >= atMost || atHost >= perHost) return false
      taken.set(host, atHost + 1)
      total++
      return true
    },
    free(host: string): void {
      const atHost = (taken.get(host) ?? 1) - 1
      if (atHost === 0) taken.delete(host)
      else taken.set(host, atHost)
      total--
    },
  }
}

/**
 * Lets the calls of one pool begin one after the other: a call costs the event loop half a millisecond, with TLS more, and a caller with many
 * networks and many hosts can cause any number. Calls that wait keep their places, so few wait.
 */
function createPace(pause?: () => Promise<unknown>): () => Promise<unknown> {
  let mayBegin: Promise<unknown> = Promise.resolve()
  return () => {
    const before = mayBegin
    if (pause) mayBegin = before.then(pause)
    return before
  }
}

type FetchedContent = { type: string; text: string; headers: Readonly<Record<string, string>> }

function contentOf({ form, json }: Omit<OutboundCall, 'url'>): FetchedContent | null {
  if (json) return { type: 'application/json', ...json }
  if (!form) return null
  return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString(), headers: {} }
}

/** Sends a request; resolves when the headers of the response have arrived. */
function send(to: URL, content: FetchedContent | null, { accept, ...connection }: FetchConnection): Promise<IncomingMessage> {
  const headers = {
    accept: content === null ? accept : '*/*',
    'accept-encoding': 'identity',
    'user-agent': 'grantor',
    ...(content === null
      ? {}
      : { ...content.headers, 'content-type': content.type, 'content-length': Buffer.byteLength(content.text) }),
  }
  const options = { method: content === null ? 'GET' : 'POST', headers, ...connection }
  return new Promise((resolve, reject) => {
    const request =
      to.protocol === 'http:'
        ? requestHttp(to, options)
        : requestHttps(to, { ...options, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
    request.on('response', resolve).on('error', reject)
    request.end(content?.text)
  })
}

type FetchConnection = { accept: string; agent: Agent | HttpsAgent; lookup: LookupFunction; signal: AbortSignal; ca?: string }

class RefusedFetch extends Error {}

/**
 * Resolves a name and returns its addresses only if all of them are allowed: the connection uses the addresses that
 * were checked here.
 */
function lookupOnly(isAllowed: (address: string) => boolean, lookup: typeof lookupName): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      if (addresses.length === 0 || addresses.some(({ address }) => !isAllowed(address)))
        return callback(new RefusedFetch('address_not_public'), [])
      const [first] = addresses
      return options.all ? callback(null, addresses) : callback(null, first?.address ?? '', first?.family)
    })
  }
}

async function readBody(answer: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > limit) throw new RefusedFetch('too_long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function overdue(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new RefusedFetch('timed_out')), { once: true })
  })
}

function reasonOf(error: unknown): string {
  if (error instanceof RefusedFetch) return error.message
  if (error instanceof Error && error.name === 'TimeoutError') return 'timed_out'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERR_TLS)/.test(code) ? 'certificate' : 'unreachable'
}
