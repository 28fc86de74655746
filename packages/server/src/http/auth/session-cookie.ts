/** The two cookies of the auth service: the session, and the browser key that binds logins to this browser. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Browser } from '../../domain/authorization/authorize.ts'
import { networkOf } from '../../observability/log/network.ts'
import { type Cookie, readCookie, setCookie } from '../cookies.ts'
import type { RateVerdict } from '../rate-limit.ts'
import { placeOf } from './place.ts'
import type { HttpService } from './service.ts'

/** Seconds for which a browser keeps its key; renewed with every login that begins. */
const BROWSER_KEY_LIFETIME = 30 * 86_400
/** 256 bits in base64url: this service did not set any other value. */
const VALUE = /^[A-Za-z0-9_-]{43}$/

export function browserOf(service: HttpService, request: FastifyRequest): Browser {
  const network = networkOf(request.ip)
  return {
    sessionId: readOwnCookie(request, cookieOf(service, 'session')),
    browserKey: readOwnCookie(request, cookieOf(service, 'browser')),
    network,
    place: placeOf(request),
    admitCode: (wallet) => admitCode(service, wallet, network),
  }
}

/** The wallet is counted first: a wallet that is above its limit uses up nothing of its network. */
function admitCode({ limits }: HttpService, wallet: string, network: string): RateVerdict {
  const verdict = limits.count('codes', wallet)
  return verdict.allowed ? limits.count('network_codes', network) : verdict
}

export function setSessionCookie(service: HttpService, reply: FastifyReply, sessionId: string): void {
  setCookie(reply, cookieOf(service, 'session'), { value: sessionId, seconds: service.deps.settings.lifetimes.session })
}

export function clearSessionCookie(service: HttpService, reply: FastifyReply): void {
  setCookie(reply, cookieOf(service, 'session'), { value: '', seconds: 0 })
}

export function setBrowserCookie(service: HttpService, reply: FastifyReply, browserKey: string): void {
  setCookie(reply, cookieOf(service, 'browser'), { value: browserKey, seconds: BROWSER_KEY_LIFETIME })
}

function cookieOf({ deps }: HttpService, name: 'session' | 'browser'): Cookie {
  return { origin: deps.settings.authUrl, name: `grantor_${name}` }
}

/** The value, if this service can have set it. */
function readOwnCookie(request: FastifyRequest, cookie: Cookie): string | null {
  const value = readCookie(request, cookie)
  return value !== null && VALUE.test(value) ? value : null
}
