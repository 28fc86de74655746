/**
 * Server metadata (RFC 8414 §3, §3.1, §3.2) of the configured issuer, whatever host the request names (§3.3), and the
 * JWK Set (RFC 7517 §5, OpenID Connect Discovery §3), with which a resource server verifies tokens (RFC 9068 §4).
 * Readable from any origin.
 */
import type { FastifyInstance } from 'fastify'
import { ACR } from '../../../domain/tokens/id-token.ts'
import { publishedAlgorithms } from '../../../domain/tokens/signing-key.ts'
import { type MetadataFacts, openidConfiguration, serverMetadata } from '../../../protocol/oauth/metadata.ts'
import { STANDARD_SCOPES } from '../../../protocol/oauth/standard-scopes.ts'
import { ANY_ORIGIN } from '../cross-origin.ts'
import type { HttpService } from '../service.ts'

/**
 * Seconds for which a copy may be cached. Together with the second in which a node notices a new key, this is well
 * below the 60 seconds between a key's announcement and its first signature.
 */
const KEPT_FOR = 30

export function wellKnownRoutes(server: FastifyInstance, { deps }: HttpService): void {
  const headers = (type: string): Record<string, string> => ({
    ...ANY_ORIGIN,
    'content-type': type,
    'cache-control': `public, max-age=${KEPT_FOR}`,
    'x-content-type-options': 'nosniff',
  })
  const facts = (): MetadataFacts => ({
    issuer: deps.settings.authUrl,
    clientMetadata: deps.settings.clientMetadata,
    dynamicRegistration: deps.settings.dynamicRegistration !== null,
    scopes: [...new Set([...Object.keys(deps.settings.scopeDescriptions), ...STANDARD_SCOPES, ...deps.resources.allScopes()])],
    signingAlgorithms: publishedAlgorithms(deps),
    acrValues: deps.settings.loginMayVouch ? [ACR.signature, ACR.vouched] : [ACR.signature],
  })
  const documents = {
    '/.well-known/oauth-authorization-server': () => serverMetadata(facts()),
    // OpenID Connect Discovery §4, §4.2
    '/.well-known/openid-configuration': () => openidConfiguration(facts()),
  }
  for (const [url, document] of Object.entries(documents)) {
    server.route({
      method: ['GET', 'HEAD'],
      url,
      handler: async (_request, reply) =>
        reply.headers(headers('application/json; charset=utf-8')).send(JSON.stringify(document())),
    })
  }
  server.route({
    method: ['GET', 'HEAD'],
    url: '/oauth/jwks',
    handler: async (_request, reply) => {
      const keys = deps.keys.signingKeys().map((key) => key.publicJwk)
      return reply.headers(headers('application/jwk-set+json; charset=utf-8')).send(JSON.stringify({ keys }))
    },
  })
}
