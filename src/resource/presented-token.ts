import type { ResourceReasonOf } from './resource-reasons.ts'

/**
 * The parts of a request that matter here. Node's `IncomingMessage` (Express: `req`, Fastify: `request.raw`),
 * Fastify's request and the `Request` of the Fetch standard all fit as they are.
 */
export interface PresentedRequest {
  headers: FetchHeaders | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Node's list of names and values. With it a repeated `Authorization` header is seen; Node's `headers` keeps only the first. */
  rawHeaders?: readonly string[]
  /** With it a second token in the query is seen, and a DPoP proof can be checked, as with the two that follow. */
  url?: string | undefined
  /** Express's and Fastify's: `url` before any router took its part off. */
  originalUrl?: string | undefined
  method?: string | undefined
}

/** What is used of the Fetch standard's `Headers`. */
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
 * Reads the token a request presents (RFC 6750 §2, RFC 9449 §7.1).
 *
 * Taken only from the one header named: a token in a query ends up in logs and histories (RFC 6750 §2.3, §5.3), one in a body is the
 * API's to parse. A query token beside the header is refused, because "clients MUST NOT use more than one method" (§2).
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

/** RFC 9110 §11.1: the scheme is case-insensitive. Another scheme is no token at all: `undefined`. */
function schemeToken(value: string, name: 'bearer' | 'dpop'): string | undefined {
  const [scheme] = value.split(' ', 1)
  return scheme?.toLowerCase() === name ? value.slice(scheme.length).trim() : undefined
}

/** A platform's own header holds the token as it is; `Bearer ` before it is tolerated, since a token has no space. */
function bareOrBearerToken(value: string): string {
  return schemeToken(value, 'bearer') ?? value.trim()
}

function hasQueryToken(url: string | undefined): boolean {
  const query = url?.split('#', 1)[0]?.split('?').slice(1).join('?')
  return query !== undefined && new URLSearchParams(query).has('access_token')
}
