/**
 * Options for a Fastify server whose routes have no JSON schemas. Without these options, Fastify loads Ajv and fast-json-stringify at
 * each start: a hundred files, a tenth of the time until the service is ready, and 3 MiB (docs/evidence/performance.md).
 */
export const noSchemas = { schemaController: { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } } }

function refuse(): never {
  throw new Error('the routes of this server have no schemas')
}
