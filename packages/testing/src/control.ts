/** The control endpoint: what `startTestGrantor` returns, over HTTP, for tests in other languages. On a port of its own. */
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { isOfDevelopmentHost } from 'grantor/private'
import type { FaultyEndpoint } from './faults.ts'
import type { TestGrantor } from './test-grantor.ts'

const BODY_AT_MOST = 16 * 1024

type Fields = Record<string, unknown>

/** The server, which does not listen yet. */
export function createControl(grantor: TestGrantor): FastifyInstance {
  const server = Fastify({ bodyLimit: BODY_AT_MOST, forceCloseConnections: 'idle', return503OnClosing: false })
  // A page of another site can send a form or plain text without permission of this server, but not JSON.
  server.removeContentTypeParser('text/plain')
  server.addHook('onRequest', async ({ headers: { host } }) => {
    // A page of another site can have a host name that resolves to this machine (DNS rebinding).
    if (!isOfDevelopmentHost(host)) throw badRequest('the Host header names another host')
  })
  server.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    // An error without a status is a refusal of the request by the function that was called.
    const { statusCode = 400, message } = error
    return reply.status(statusCode).send({ error: 'invalid_request', error_description: message })
  })

  server.get('/test', async () => factsOf(grantor))
  server.post('/test/token', async (request) => {
    const { wallet, client, scope, resource } = fieldsOf(request, ['wallet', 'client', 'scope', 'resource'])
    const wanted = Object.entries({ wallet, client, scope, resource }).filter(([, value]) => value !== undefined)
    for (const [field, value] of wanted) if (typeof value !== 'string') throw badRequest(`${field} must be a text`)
    return grantor.tokenFor(Object.fromEntries(wanted))
  })
  server.post('/test/clock', async (request) => {
    grantor.clock.advance(fieldsOf(request, ['advance']).advance as number)
    return { now: grantor.clock.now() }
  })
  server.post('/test/faults', async (request, reply) => {
    orderFault(grantor, fieldsOf(request, ['endpoint', 'status', 'slow_ms', 'times']))
    return reply.status(204).send()
  })
  server.delete('/test/faults', async (_request, reply) => {
    grantor.faults.clear()
    return reply.status(204).send()
  })
  return server
}

/** What an app under test needs, and what `grantor test-issuer --json` prints. */
export function factsOf({ issuer, loginUrl, controlUrl, clients, wallets }: TestGrantor) {
  return {
    issuer,
    login_url: loginUrl,
    control_url: controlUrl,
    clients: clients.map(({ name, clientId, clientSecret, redirectUris }) => ({
      name,
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: redirectUris,
    })),
    wallets: wallets.map(({ address }) => address),
  }
}

function orderFault({ faults }: TestGrantor, { endpoint, status, slow_ms: milliseconds, times }: Fields): void {
  if (status !== undefined && milliseconds !== undefined) throw badRequest('a fault has status or slow_ms, not both')
  const [name, count] = [endpoint as FaultyEndpoint, times as number | undefined]
  if (milliseconds === undefined) faults.failNext(name, status as number | undefined, count)
  else faults.slow(name, milliseconds as number, count)
}

/** The members of a JSON object. A name that is not known is an error, so that a spelling mistake is noticed. */
function fieldsOf({ body }: FastifyRequest, known: readonly string[]): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw badRequest('the body must be a JSON object')
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) throw badRequest(`${JSON.stringify(unknown)} is not supported: ${known.join(', ')}`)
  return body as Fields
}

function badRequest(message: string): Error {
  return Object.assign(new Error(message), { statusCode: 400 })
}
