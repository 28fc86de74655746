/** Server metadata (RFC 8414 §3) and the JWK Set (RFC 7517 §5), readable from any origin. */
import type { FastifyInstance } from 'fastify'
import { serverMetadata } from '../../oauth/metadata.ts'
import { ANY_ORIGIN } from '../cross-origin.ts'
import type { Service } from '../service.ts'

/** Seconds a copy may be kept: with the second a node needs to notice a key, well below the 60 it is announced before it signs. */
const KEPT_FOR = 30

export function wellKnownRoutes(server: FastifyInstance, { deps }: Service): void {
  const headers = (type: string): Record<string, string> => ({
    ...ANY_ORIGIN,
    'content-type': type,
    'cache-control': `public, max-age=${KEPT_FOR}`,
    'x-content-type-options': 'nosniff',
  })
  const metadata = JSON.stringify(
    serverMetadata({ issuer: deps.settings.authUrl, scopes: Object.keys(deps.settings.scopeDescriptions) }),
  )
  server.route({
    method: ['GET', 'HEAD'],
    url: '/.well-known/oauth-authorization-server',
    handler: async (_request, reply) => reply.headers(headers('application/json; charset=utf-8')).send(metadata),
  })
  server.route({
    method: ['GET', 'HEAD'],
    url: '/oauth/jwks',
    handler: async (_request, reply) => {
      const keys = deps.keys.signingKeys().map((key) => key.publicJwk)
      return reply.headers(headers('application/jwk-set+json; charset=utf-8')).send(JSON.stringify({ keys }))
    },
  })
}
