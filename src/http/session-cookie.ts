/**
 * The two cookies of the auth service: the session, and the browser key that binds logins to this browser.
 *
 * The prefix `__Host-` (RFC 6265bis §4.1.3.2) prevents sibling hosts from setting these cookies. The prefix requires
 * https, so plain-http loopback has no prefix. SameSite=Lax: browsers send the cookies when an app navigates here, and
 * never with a form post of another site.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Browser } from '../domain/authorization/authorize.ts'
import { networkOf } from '../ops/network.ts'
import type { RateVerdict } from '../ops/rate-limit.ts'
import type { Service } from './service.ts'

/** Seconds for which a browser keeps its key; renewed with every login that begins. */
const BROWSER_KEY_LIFETIME = 30 * 86_400
/** 256 bits in base64url: this service did not set any other value. */
const VALUE = /^[A-Za-z0-9_-]{43}$/

export function browserOf(service: Service, request: FastifyRequest): Browser {
  const names = cookieNames(service)
  const network = networkOf(request.ip)
  return {
    sessionId: readCookie(request, names.session),
    browserKey: readCookie(request, names.browser),
    network,
    admitCode: (wallet) => admitCode(service, wallet, network),
  }
}

/** The wallet is counted first: a wallet that is above its limit uses up nothing of its network. */
function admitCode({ limits }: Service, wallet: string, network: string): RateVerdict {
  const verdict = limits.count('codes', wallet)
  return verdict.allowed ? limits.count('network_codes', network) : verdict
}

export function setSessionCookie(service: Service, reply: FastifyReply, sessionId: string): void {
  setCookie(service, reply, cookieNames(service).session, sessionId, service.deps.settings.lifetimes.session)
}

export function clearSessionCookie(service: Service, reply: FastifyReply): void {
  setCookie(service, reply, cookieNames(service).session, '', 0)
}

export function setBrowserCookie(service: Service, reply: FastifyReply, browserKey: string): void {
  setCookie(service, reply, cookieNames(service).browser, browserKey, BROWSER_KEY_LIFETIME)
}

function isSecure(service: Service): boolean {
  return service.deps.settings.authUrl.startsWith('https:')
}

function cookieNames(service: Service): { session: string; browser: string } {
  const prefix = isSecure(service) ? '__Host-' : ''
  return { session: `${prefix}grantor_session`, browser: `${prefix}grantor_browser` }
}

function setCookie(service: Service, reply: FastifyReply, name: string, value: string, maxAge: number): void {
  const secure = isSecure(service) ? '; Secure' : ''
  void reply.header('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`)
}

/** Further cookies are ignored; browsers keep fewer cookies for one site. */
const COOKIES_AT_MOST = 200

/** The first cookie of that name: browsers send the most specific cookie first. */
function readCookie(request: FastifyRequest, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';', COOKIES_AT_MOST)) {
    const [key, value = ''] = pair.trim().split('=', 2)
    if (key === name) return VALUE.test(value) ? value : null
  }
  return null
}
