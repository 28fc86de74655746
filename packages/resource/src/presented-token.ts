import type { ResourceReasonOf } from './resource-reasons.ts'

/**
 * The parts of a request that the check reads. Node's `IncomingMessage` (Express: `req`, Fastify: `request.raw`),
 * Fastify's request and the `Request` of the Fetch standard can be passed unchanged.
 */
export interface PresentedRequest {
  headers: FetchHeaders | Readonly<Record<string, string | readonly string[] | undefined>>
  /**
   * Node's list of names and values, which is needed to detect a repeated `Authorization` header: Node's `headers` keeps
   * only the first.
   */
  rawHeaders?: readonly string[]
  /** Needed, like the next two members, to check a DPoP proof; also to detect a second token in the query. */
  url?: string | undefined
  /** Express's and Fastify's `url` before a router removed a prefix. */
  originalUrl?: string | undefined
  method?: string | undefined
}

/** The part of the Fetch standard's `Headers` that is used here. */
interface FetchHeaders {
  get(name: string): string | null
}

export type PresentedToken =
  | { kind: 'token'; scheme: 'Bearer' | 'DPoP'; token: string }
  | { kind: 'none' }
  | { kind: 'malformed'; reason: ResourceReasonOf<'invalid_request'> }

/** RFC 6750 §2.1: b64token. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * Reads the token that a request presents (RFC 6750 §2, RFC 9449 §7.1).
 *
 * The token is read from the named header only: a token in a query appears in logs and histories (RFC 6750 §2.3, §5.3),
 * and the API parses its own bodies. A query token beside the header is refused, because "clients MUST NOT use more
 * than one method" (§2).
 */
export function readPresentedToken(request: PresentedRequest, header: string, dpop: boolean): PresentedToken {
  const values = headerValues(request, header)
  if (values.length > 1) return { kind: 'malformed', reason: 'header_repeated' }
  const [value] = values
  if (value === undefined) return { kind: 'none' }

  const bound = dpop ? schemeToken(value, 'dpop') : undefined
  const token = bound ?? (header === 'authorization' ? schemeToken(value, 'bearer') : bareOrBearerToken(value))
  if (token === undefined) return { kind: 'none' }
  if (!b64token.test(token)) return { kind: 'malformed', reason: 'header_malformed' }
  if (hasQueryToken(request.url)) return { kind: 'malformed', reason: 'two_methods' }
  return { kind: 'token', scheme: bound === undefined ? 'Bearer' : 'DPoP', token }
}

export function headerValues({ headers, rawHeaders }: PresentedRequest, name: string): readonly string[] {
  if (rawHeaders) return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
  if (isFetchHeaders(headers)) return [headers.get(name) ?? []].flat()
  return Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
}

function isFetchHeaders(headers: PresentedRequest['headers']): headers is FetchHeaders {
  return typeof headers.get === 'function'
}

/** RFC 9110 §11.1: the scheme is case-insensitive. Another scheme is not a token: `undefined`. */
function schemeToken(value: string, name: 'bearer' | 'dpop'): string | undefined {
  const [scheme] = value.split(' ', 1)
  return scheme?.toLowerCase() === name ? value.slice(scheme.length).trim() : undefined
}

/** A custom header contains the bare token. `Bearer ` before the token is accepted too, because a token has no space. */
function bareOrBearerToken(value: string): string {
  return schemeToken(value, 'bearer') ?? value.trim()
}

/** The path of a request's target. The Fetch standard has absolute URLs. */
export function pathOf(url: string): string {
  return withoutOrigin(url).split(/[?#]/, 1)[0] ?? ''
}

export function withoutOrigin(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
}

function hasQueryToken(url: string | undefined): boolean {
  const query = url?.split('#', 1)[0]?.split('?').slice(1).join('?')
  return query !== undefined && new URLSearchParams(query).has('access_token')
}
