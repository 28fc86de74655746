/**
 * `GET /health/probe`, for `grantor doctor`: how a request arrived here through the proxies in front. Only a caller that has the login
 * secret gets an answer. Any other caller gets 404. The secret itself is not sent: if the URL leads to another server, that server
 * receives a MAC for its own URL only.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export const PROBE_PATH = '/health/probe'
/** Seconds. The range is wide, because the probe also measures the difference of the clocks. */
const PROBE_LIFETIME = 86_400

/** The headers that proxies must forward unchanged, with the values that the probe sends. `Origin` protects the forms. */
export function probedHeaders(origin: string) {
  return {
    authorization: 'Bearer grantor-probe',
    dpop: 'grantor-probe',
    cookie: 'grantor-probe=1',
    origin,
    'user-agent': 'grantor doctor',
  } as const
}

/** A probe with this header gets an answer with a header of `LONG_HEADER` characters. */
export const LONG_ANSWER = 'grantor-probe-long-answer'
/** A redirect to the login page has a challenge of at most 4,096 characters in `Location`, a cookie and a policy. */
export const LONG_HEADER = 5_000

/** The headers of the answer that proxies must not remove or change. */
export const PROBED_ANSWER = {
  'cache-control': 'no-store',
  'dpop-nonce': 'grantor-probe',
  'www-authenticate': 'Grantor-Probe',
} as const

export type ProbeAnswer = {
  service: 'auth' | 'login' | 'admin'
  /** the probe that was answered, so that a cached answer is noticed */
  probe: string
  /** epoch seconds, by the clock of the service */
  now: number
  /** the address at the other end of the connection */
  peer: string
  peer_port: number
  forwarded_for: string | null
  /** the names of `probedHeaders` that arrived with another value, or not at all */
  missing: string[]
}

/** The value of the header `grantor-probe` for the server at this origin. */
export function probeFor(secret: string, origin: string, at: number): string {
  return `${at}.${probeMac(secret, origin, String(at))}`
}

type ProbeOptions = { service: ProbeAnswer['service']; origin: string; secrets: readonly string[]; now: () => number }

export function addProbeRoute(server: FastifyInstance, { service, origin, secrets, now }: ProbeOptions): void {
  server.get(PROBE_PATH, async (request, reply) => {
    const probe = headerOf(request, 'grantor-probe') ?? ''
    if (!secrets.some((secret) => isProbe(probe, { secret, origin, at: now() })))
      return reply.code(404).header('cache-control', 'no-store').send({ error: 'not_found' })
    const answer: ProbeAnswer = {
      service,
      probe,
      now: now(),
      peer: request.socket.remoteAddress ?? '',
      peer_port: request.socket.remotePort ?? 0,
      forwarded_for: headerOf(request, 'x-forwarded-for'),
      missing: Object.entries(probedHeaders(origin)).flatMap(([name, value]) =>
        headerOf(request, name) === value ? [] : [name],
      ),
    }
    if (headerOf(request, LONG_ANSWER) !== null) reply.header(LONG_ANSWER, 'x'.repeat(LONG_HEADER))
    return reply.headers(PROBED_ANSWER).send(answer)
  })
}

function isProbe(probe: string, { secret, origin, at }: { secret: string; origin: string; at: number }): boolean {
  const [, time = '', mac = ''] = /^(\d{1,12})\.([\w-]{43})$/.exec(probe) ?? []
  if (time === '' || Math.abs(Number(time) - at) > PROBE_LIFETIME) return false
  return timingSafeEqual(Buffer.from(mac), Buffer.from(probeMac(secret, origin, time)))
}

function probeMac(secret: string, origin: string, time: string): string {
  return createHmac('sha256', secret).update(`grantor probe\n${origin}\n${time}`).digest('base64url')
}

function headerOf({ headers }: FastifyRequest, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value.join(', ') : value) ?? null
}
