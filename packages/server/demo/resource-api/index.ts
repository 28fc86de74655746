import { createTokenCheck, ResourceError } from '@grantor/resource'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import Fastify, { LogController } from 'fastify'
import { enhancements } from './enhancements.ts'
import { page, pageHeaders } from './page.ts'

export interface ResourceApiOptions {
  /** The issuer: the address of the authorization service, exactly as in `iss`. */
  issuer: string
  /** The `aud` of tokens for this API. */
  audience: string
  /** The public origin of this API. If present, tokens that are bound to a key (DPoP, RFC 9449) are accepted too. */
  origin?: string
  /** This API's own credentials at the introspection endpoint (a client made with `clients create --resource-server`). */
  clientId: string
  clientSecret: string
  logger?: FastifyBaseLogger
  /** Epoch seconds; the machine's clock if absent. */
  now?: () => number
}

/**
 * The demo resource API, which does not listen yet.
 *
 * `GET /me` returns the wallet of the token, and `POST /enhancements/{item}` draws from the limit that the user signed. Every call uses introspection, so a revoked token is refused at once. A
 * token that is bound to a key needs a proof of that key with each call. `GET /` is a page that explains the API.
 */
export function createResourceApi({
  issuer,
  audience,
  origin,
  clientId,
  clientSecret,
  logger,
  now,
}: ResourceApiOptions): FastifyInstance {
  const options = {
    issuer,
    introspection: { clientId, clientSecret },
    ...(origin === undefined ? {} : { dpop: { origin } }),
    ...(now ? { now } : {}),
  }
  const check = createTokenCheck({ ...options, audience })

  const api = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    // The log line of a request would contain a token that a client put into the query by mistake.
    logController: new LogController({ disableRequestLogging: true }),
  })

  api.get('/', async (_request, reply) => await reply.headers(pageHeaders).send(page))

  api.get('/me', async (request, reply) => {
    // Node's request object also has the headers that were sent twice.
    const token = await check(request.raw, { scopes: ['enhancement'] })
    // A cache must not return the response for one wallet to another.
    reply.header('cache-control', 'no-store')
    return { wallet: token.wallet, client_id: token.clientId, scope: token.scopes.join(' ') }
  })

  // An audience that is no web address, such as a URN, has no metadata document.
  if (/^https?:/.test(audience)) api.register(enhancements({ ...options, resource: audience }))

  api.setErrorHandler(async (error, request, reply) => {
    if (error instanceof ResourceError) {
      const { status, error: code, description, reason, cause } = error
      request.log[status === 503 ? 'warn' : 'info'](
        { reason, cause: cause instanceof Error ? cause.message : undefined },
        'call refused',
      )
      return await reply.code(status).headers(error.headers).send({ error: code, error_description: description })
    }
    request.log.error({ err: error }, 'call failed')
    return await reply.code(500).send({ error: 'server_error', request_id: request.id })
  })
  api.setNotFoundHandler(async (_request, reply) => await reply.code(404).send({ error: 'not_found' }))

  return api
}
