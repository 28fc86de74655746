import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import Fastify, { LogController } from 'fastify'
import { createTokenCheck, ResourceError } from 'grantor/resource'
import { page, pageHeaders } from './page.ts'

export interface ResourceApiOptions {
  /** The authorization service's address, exactly as it writes `iss`. */
  issuer: string
  /** The `aud` a token must have to be meant for this API. */
  audience: string
  /** Where apps call this API. With it, tokens that are bound to a key (DPoP, RFC 9449) are taken too. */
  origin?: string
  /** This API's own credentials at the introspection endpoint (a client made with `clients create --resource-server`). */
  clientId: string
  clientSecret: string
  logger?: FastifyBaseLogger
  /** Epoch seconds; the machine's clock when absent. */
  now?: () => number
}

/**
 * The demo resource API, not listening yet.
 *
 * `GET /me` answers with the wallet it was called for. Every call asks introspection, so a token that was revoked a
 * moment ago is refused now. A token that is bound to a key needs a proof of that key with each call. `GET /` tells a person what this is.
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
  const check = createTokenCheck({
    issuer,
    audience,
    introspection: { clientId, clientSecret },
    ...(origin === undefined ? {} : { dpop: { origin } }),
    ...(now ? { now } : {}),
  })

  const api = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    // A request's line in a log may hold a token that was put into the query by mistake.
    logController: new LogController({ disableRequestLogging: true }),
  })

  api.get('/', async (_request, reply) => await reply.headers(pageHeaders).send(page))

  api.get('/me', async (request, reply) => {
    // Node's own request, because it still shows a header that was sent twice.
    const token = await check(request.raw, { scopes: ['enhancement'] })
    // What one wallet is told must not be kept for another.
    reply.header('cache-control', 'no-store')
    return { wallet: token.wallet, client_id: token.clientId, scope: token.scopes.join(' ') }
  })

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
