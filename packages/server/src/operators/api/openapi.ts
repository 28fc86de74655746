/** The OpenAPI 3.1 document, made from the operations. scripts/docs/openapi-page.ts makes a page from it. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { adminScopes } from '../../domain/operators/roles.ts'
import { subjects } from '../operations/all.ts'
import type { Admin } from './admin.ts'
import { problemSchema } from './answers.ts'

/** Call it before the operations are added. */
export async function describeOperations(server: FastifyInstance, { adminUrl, deps, version }: Admin): Promise<void> {
  const { authUrl } = deps.settings
  for (const schema of [problemSchema, ...subjects.flatMap(({ schemas }) => schemas)]) server.addSchema(schema)
  await server.register(swagger, {
    // A schema has the same name in the document as in `schemas.ts`.
    refResolver: { buildLocalReference: (json) => json.$id as string },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Grantor admin API',
        // Without the commit, which does not change the API.
        version: version.split('+', 1).join(),
        description:
          'Everything that the commands do for clients, resources, operators, grants, sessions and keys, and the audit trail. Access tokens are those of the service itself, for this resource.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: adminUrl }],
      tags: subjects.map(({ name, words: description }) => ({ name, description })),
      components: {
        securitySchemes: {
          oauth: {
            type: 'oauth2',
            description: 'Machines use the client credentials grant with private_key_jwt or DPoP.',
            flows: {
              clientCredentials: { tokenUrl: `${authUrl}/oauth/token`, scopes: { ...adminScopes } },
              authorizationCode: {
                authorizationUrl: `${authUrl}/oauth/authorize`,
                tokenUrl: `${authUrl}/oauth/token`,
                scopes: { ...adminScopes },
              },
            },
          },
        },
      },
    },
  })
}

/** Adds `GET /openapi.json`. The document is the same for every caller and reveals nothing of the store. */
export function openapiRoute(server: FastifyInstance): void {
  let document: string | undefined
  server.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify(server.swagger())
    return reply
      .headers({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      })
      .send(document)
  })
}
