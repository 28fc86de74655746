/**
 * Redirect URIs (RFC 6749 §3.1.2, OpenID Connect Core §3.1.2.1): which URIs may be registered, which one a request may
 * name, and how a response is appended.
 */
import { parseForm, queryOf } from './form.ts'

export type RedirectUriFault =
  | 'not_rfc3986'
  | 'has_fragment'
  | 'has_userinfo'
  | 'has_wildcard'
  | 'has_answer_parameter'
  | 'http_outside_loopback'
  | 'scheme_not_allowed'
  | 'too_long'

// RFC 3986 appendix A, approximately: a scheme, then only characters that a URI may contain; percent signs only in %XX.
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/
const HTTP = /^(https?):\/\/([^/?#]*)/i
const ANSWER_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'response']
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([0-9]{1,5}))?(?=[/?]|$)/

/**
 * `private_use`: an app on the device may also register a scheme of its own, a reversed domain name (RFC 8252 §7.1). A list allows in
 * addition these schemes without a dot.
 */
export type SchemeRule = 'web' | 'private_use' | readonly string[]

/** Returns why a URI cannot be registered, or null if it can. */
export function redirectUriFault(uri: string, schemes: SchemeRule): RedirectUriFault | null {
  if (uri.length > 2000) return 'too_long'
  if (!URI.test(uri)) return 'not_rfc3986'
  // RFC 6749 §3.1.2: "The endpoint URI MUST NOT include a fragment component."
  if (uri.includes('#')) return 'has_fragment'
  // The response would contain the parameter twice, and an app could read the wrong one.
  const query = parseForm(queryOf(uri))
  if (ANSWER_PARAMETERS.some((name) => query.has(name))) return 'has_answer_parameter'
  const http = HTTP.exec(uri)
  if (!http) return privateUseFault(uri, schemes)
  const [, scheme = '', authority = ''] = http
  if (authority.includes('@')) return 'has_userinfo'
  // No host is called `*`: a URI with a wildcard was registered in the hope of a match that never happens (RFC 9700
  // §2.1).
  if (authority.includes('*')) return 'has_wildcard'
  if (!URL.canParse(uri) || authority === '' || /[[\]]/.test(uri.slice(http[0].length))) return 'not_rfc3986'
  const { hostname } = new URL(uri)
  return scheme.toLowerCase() === 'http' && !isLoopbackHost(hostname) ? 'http_outside_loopback' : null
}

/** RFC 8252 §7.1: a private-use scheme is a reversed domain name, so `javascript:` and `data:` are refused. */
function privateUseFault(uri: string, schemes: SchemeRule): RedirectUriFault | null {
  const scheme = uri.slice(0, uri.indexOf(':'))
  const isListed = typeof schemes !== 'string' && schemes.includes(scheme.toLowerCase())
  if (schemes === 'web' || !(scheme.includes('.') || isListed)) return 'scheme_not_allowed'
  if (/^[^:]+:\/\/[^/?]*@/.test(uri)) return 'has_userinfo'
  // Brackets may only enclose an IP address (RFC 3986 §3.2.2), and a private-use scheme has none.
  return URL.canParse(uri) && !/[[\]]/.test(uri) ? null : 'not_rfc3986'
}

/**
 * `localhost`, its subdomains, 127.0.0.0/8 and ::1, as `URL.hostname` spells them. Plain http can be registered for
 * these hosts only, so no code travels unencrypted (RFC 6749 §3.1.2.1, §10.5, RFC 9700 §2.6).
 */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || /^127(?:\.\d{1,3}){3}$/.test(hostname) || hostname === '[::1]'
  )
}

/** `any_on_loopback`: for apps on the device, which get a free port from the operating system at each start. */
export type PortRule = 'exact' | 'any_on_loopback'

/**
 * RFC 9700 §2.1, §4.1.3: exact string matching of whole URIs; no normalising, no prefix, no wildcard (RFC 6749
 * §3.1.2.2, §3.1.2.3, §10.6, §10.15, OpenID Connect Core §14). RFC 8252 §7.3: for an app on the device, only the port on loopback
 * may differ. §8.3 advises against `localhost`, because the name could resolve to another address. Widely used apps register this
 * name, so it is accepted; PKCE, `iss` and the signed text protect the code if the name is redirected.
 */
export function redirectUriMatches(registered: readonly string[], presented: string, ports: PortRule): boolean {
  if (registered.includes(presented)) return true
  const portless = ports === 'any_on_loopback' ? withoutLoopbackPort(presented) : null
  return portless !== null && registered.some((uri) => withoutLoopbackPort(uri) === portless)
}

/** The longest URI that a request may name for this registered one, if any port on loopback is allowed. */
export function withLongestPort(uri: string): string {
  return uri.replace(LOOPBACK, '$1:65535')
}

function withoutLoopbackPort(uri: string): string | null {
  const loopback = LOOPBACK.exec(uri)
  if (!loopback || Number(loopback[2] ?? 80) > 65_535) return null
  return `${loopback[1]}${uri.slice(loopback[0].length)}`
}

/**
 * The destination of a response, as pages show it to a user: a website by its host and port, an app on the device by
 * its private-use scheme (RFC 8252 §7.1). A scheme is never shown as a host: anyone can register `login.bank.example:`,
 * and the scheme proves nothing about that domain.
 */
export type ClientPlace = {
  clientHost: string
  clientScheme?: string | undefined
  /**
   * the host of the metadata document of a client that is not registered: the only part of such a client that is proved. Empty for a
   * client that registered itself: nothing of such a client is proved
   */
  clientPublisher?: string | undefined
}

export function redirectUriPlace(uri: string): ClientPlace {
  if (HTTP.test(uri)) return { clientHost: new URL(uri).host }
  return uri === '' ? { clientHost: '' } : { clientHost: '', clientScheme: uri.slice(0, uri.indexOf(':')) }
}

/**
 * The origin that a form is posted to, as a source of `form-action` in a Content Security Policy. Null if a form cannot
 * be posted to this URI: an app with a private-use scheme receives the URI and no body. A policy cannot name an IPv6
 * address, and a semicolon or a comma in the host would end the policy (Content Security Policy Level 3,
 * `host-source`).
 */
export function formOrigin(uri: string): string | null {
  const origin = HTTP.test(uri) ? new URL(uri).origin : ''
  return /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/.test(origin) ? origin : null
}

/**
 * Appends parameters, each once (RFC 6749 §3.1), without changing the URI's own bytes (§4.1.2). The values must be
 * percent-encoded.
 */
export function appendToRedirectUri(uri: string, parameters: readonly (readonly [name: string, encoded: string])[]): string {
  const query = parameters.map(([name, encoded]) => `${name}=${encoded}`).join('&')
  // Only the first question mark begins the query; a second one is part of the query (RFC 3986 §3.4).
  const mark = uri.indexOf('?')
  const joint = mark < 0 ? '?' : mark === uri.length - 1 || uri.endsWith('&') ? '' : '&'
  return `${uri}${joint}${query}`
}
