/**
 * Operations of the admin API. One definition gives the route, the validation, the types of the handler, the access check and the entry of
 * the OpenAPI document.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import type { Operator } from '../domain/model/records.ts'
import { type Authorized, authorizeOperator } from '../domain/operators/authorize-operator.ts'
import type { AdminScope } from '../domain/operators/roles.ts'
import { currentNonce } from '../domain/tokens/dpop.ts'
import { presentedToken } from '../oauth/bearer-token.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import { headerFields } from '../ops/header-fields.ts'
import type { Admin } from './admin.ts'
import { Problem } from './problem.ts'
import { parserRefusalSchema, problemSchema } from './schemas.ts'
import { requireScope, signedInOperator } from './signed-in-operator.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Definition<Params, Query, Body> = {
  method: Method
  /** with `:name` for each parameter of the path */
  path: string
  id: string
  tag: string
  summary: string
  description?: string
  scope: AdminScope
  params?: Params
  query?: Query
  body?: Body
  /** true if the request may have the header If-Match */
  ifMatch?: true
  /** true if the request may have the header Idempotency-Key */
  idempotencyKey?: true
  /** from the status of each success to the schema of its body; null for no body */
  answers: Readonly<Record<number, { description: string; schema: TSchema | null }>>
  /** the statuses of refusals, besides those that every operation has */
  refusals?: readonly (404 | 409 | 412)[]
}

export type Call<Params extends TSchema, Query extends TSchema, Body extends TSchema> = {
  operator: Operator
  params: Static<Params>
  query: Static<Query>
  body: Static<Body>
  request: FastifyRequest
  reply: FastifyReply
}

const NONE = Type.Object({}, { additionalProperties: false })
type None = typeof NONE

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request cannot be read.',
  401: 'The access token is missing, invalid, expired or revoked.',
  403: 'The scopes of the access token or the role of the operator do not allow the operation.',
  404: 'There is no such record.',
  409: 'The state of the record does not allow the change.',
  412: 'The record was changed since it was read (If-Match).',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  414: 'The path is too long.',
  422: 'The request has faults. The member `faults` lists them.',
  431: 'The header fields or the address are too long.',
  503: 'The store cannot be reached. Nothing was changed, or the change can be repeated.',
}

/** Adds an operation to the server. The handler runs only for an operator whose token and role have the scope. */
export function addOperation<Params extends TSchema = None, Query extends TSchema = None, Body extends TSchema = None>(
  server: FastifyInstance,
  admin: Admin,
  definition: Definition<Params, Query, Body>,
  handler: (call: Call<Params, Query, Body>) => Promise<unknown>,
): void {
  const { method, path, params, query = NONE, body } = definition
  const authorized = new WeakMap<FastifyRequest, Authorized>()
  server.route({
    method,
    url: path,
    schema: {
      operationId: definition.id,
      tags: [definition.tag],
      summary: definition.summary,
      ...(definition.description && { description: definition.description }),
      security: [{ oauth: [definition.scope] }],
      ...(params && { params }),
      querystring: query,
      ...(body && { body }),
      ...headersOf(definition),
      response: responsesOf(definition),
    },
    // Runs before the body is read, so the body of a caller without access is never parsed.
    onRequest: async (request, reply) => void authorized.set(request, await authorize(admin, definition, request, reply)),
    handler: async (request, reply) => {
      const caller = authorized.get(request)
      if (!caller) throw new Error('the request has no operator')
      const operator = method === 'GET' ? caller.operator : await caller.checkAgain()
      const call = { operator, params: request.params, query: request.query, body: request.body, request, reply }
      const answer = await handler(call as Call<Params, Query, Body>)
      // A reply that a handler has sent resolves to undefined, like the result of a handler without an answer.
      if (reply.sent) return reply
      return answer === undefined ? reply.code(204).send() : answer
    },
  })
}

async function authorize(
  admin: Admin,
  { scope }: { scope: AdminScope },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Authorized> {
  const signedIn = signedInOperator()
  if (signedIn) {
    const operator = requireScope(signedIn, scope)
    return { operator, checkAgain: async () => operator }
  }
  const { deps, store, adminUrl } = admin
  const nonce = request.headers.dpop === undefined ? null : currentNonce(deps)
  if (nonce !== null) void reply.header('dpop-nonce', nonce)
  const presented = presentedToken(headerFields(request, 'authorization'), null)
  if (presented.kind !== 'token') throw new Problem('unauthorized', 'Present one access token in the header Authorization.')
  const { scheme, token } = presented
  const [path = ''] = request.url.split('?', 1)
  const proof = { proofs: headerFields(request, 'dpop'), method: request.method, path, origin: adminUrl, network: null }
  async function withScheme<Result>(check: () => Promise<Result>): Promise<Result> {
    try {
      return await check()
    } catch (error) {
      if (error instanceof OAuthError) error.tokenScheme = scheme
      throw error
    }
  }
  const { operator, checkAgain } = await withScheme(async () =>
    authorizeOperator({ deps, lists: store.lists, adminUrl }, { scheme, token, presented: proof }, scope),
  )
  return { operator, checkAgain: async () => withScheme(checkAgain) }
}

type Described = Definition<TSchema, TSchema, TSchema>

function headersOf({ ifMatch, idempotencyKey }: Pick<Described, 'ifMatch' | 'idempotencyKey'>): { headers?: TSchema } {
  const properties = {
    ...(ifMatch && {
      'if-match': Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'The ETag of the record as it was read. The change is refused if the record has changed since.',
        }),
      ),
    }),
    ...(idempotencyKey && {
      'idempotency-key': Type.Optional(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{16,100}$',
          description:
            'A random text. A request that is repeated with the same key creates nothing more and has the same result, for as long as the service keeps its key for refresh tokens.',
        }),
      ),
    }),
  }
  return ifMatch || idempotencyKey ? { headers: Type.Object(properties) } : {}
}

function responsesOf({ answers, refusals = [], params, query, body }: Described): Record<number, object> {
  const faulty = params || query || body ? [422] : []
  const withBody = body ? [413, 415] : []
  const statuses = [400, 401, 403, ...refusals, ...withBody, ...faulty, ...(params ? [414] : []), 431, 503]
  return {
    ...Object.fromEntries(
      Object.entries(answers).map(([status, { description, schema }]) => [
        status,
        schema === null ? { type: 'null', description } : { description, content: { 'application/json': { schema } } },
      ]),
    ),
    ...Object.fromEntries(
      statuses.map((status) => [
        status,
        {
          description: REFUSALS[status],
          content: {
            'application/problem+json': { schema: problemSchema },
            // The HTTP parser refuses the head of a request before any route is known.
            ...(status === 431 && { 'application/json': { schema: parserRefusalSchema } }),
          },
        },
      ]),
    ),
  }
}
