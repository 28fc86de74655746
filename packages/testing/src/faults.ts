/** Faults that a test orders: the next request to an endpoint fails, or is answered late. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const ENDPOINTS = {
  metadata: ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
  jwks: ['/oauth/jwks'],
  authorize: ['/oauth/authorize'],
  par: ['/oauth/par'],
  device: ['/oauth/device_authorization'],
  token: ['/oauth/token'],
  introspect: ['/oauth/introspect'],
  revoke: ['/oauth/revoke'],
  userinfo: ['/oauth/userinfo'],
  login: ['/login', '/login/message'],
} as const satisfies Record<string, readonly string[]>

export type FaultyEndpoint = keyof typeof ENDPOINTS
const FAULTY_ENDPOINTS = Object.keys(ENDPOINTS) as FaultyEndpoint[]

export type Faults = {
  /** The next requests to the endpoint, one unless given, are answered with this status and without any effect. */
  failNext(endpoint: FaultyEndpoint, status?: number, times?: number): void
  /** The next requests to the endpoint, one unless given, wait this long before they are handled. */
  slow(endpoint: FaultyEndpoint, milliseconds: number, times?: number): void
  /** Removes the faults that no request has met. */
  clear(): void
}

type Fault = { status: number } | { milliseconds: number }

const STATUSES = { from: 400, to: 599 }
const SLOWEST_MS = 60_000
const WAITING_AT_MOST = 1000

/** Requests with this header and the secret of the issuer meet no fault: `tokenFor` itself sends them. */
export const EXEMPT_HEADER = 'grantor-test-issuer'

export function createFaults({ exemption, stopping }: { exemption: string; stopping: AbortSignal }) {
  const waiting = new Map<FaultyEndpoint, Fault[]>()
  const order = (endpoint: FaultyEndpoint, fault: Fault, times: number): void => {
    if (!Object.hasOwn(ENDPOINTS, endpoint))
      throw new RangeError(`${JSON.stringify(endpoint)} is no endpoint with faults: ${FAULTY_ENDPOINTS.join(', ')}`)
    const faults = waiting.get(endpoint) ?? []
    if (!isWithin(times, 1, WAITING_AT_MOST - faults.length))
      throw new RangeError(`at most ${WAITING_AT_MOST} faults wait at one endpoint`)
    waiting.set(endpoint, [...faults, ...Array.from({ length: times }, () => fault)])
  }
  const faults: Faults = {
    failNext(endpoint, status = 503, times = 1) {
      if (!isWithin(status, STATUSES.from, STATUSES.to))
        throw new RangeError(`the status of a fault is ${STATUSES.from} to ${STATUSES.to}`)
      order(endpoint, { status }, times)
    },
    slow(endpoint, milliseconds, times = 1) {
      if (!isWithin(milliseconds, 0, SLOWEST_MS)) throw new RangeError(`a fault waits for 0 to ${SLOWEST_MS} milliseconds`)
      order(endpoint, { milliseconds }, times)
    },
    clear: () => waiting.clear(),
  }

  async function meet(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (request.headers[EXEMPT_HEADER] === exemption) return undefined
    const { pathname } = new URL(request.url, 'http://localhost')
    const endpoint = FAULTY_ENDPOINTS.find((name) => (ENDPOINTS[name] as readonly string[]).includes(pathname))
    const fault = endpoint && waiting.get(endpoint)?.shift()
    if (!fault) return undefined
    if ('milliseconds' in fault) {
      // The end of the test also ends the wait.
      await pauseFor(fault.milliseconds, undefined, { signal: stopping }).catch(() => undefined)
      return undefined
    }
    return reply
      .status(fault.status)
      .headers({ 'cache-control': 'no-store', 'retry-after': '1' })
      .send({ error: 'temporarily_unavailable', error_description: 'The test ordered this fault.' })
  }

  return { faults, addTo: (server: FastifyInstance) => void server.addHook('onRequest', meet) }
}

function isWithin(value: number, from: number, to: number): boolean {
  return Number.isSafeInteger(value) && value >= from && value <= to
}
