/** The route of an operation: its path, its validation, its access check, its answers and its entry of the OpenAPI document. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Authorized, authorizeOperator } from '../../domain/operators/authorize-operator.ts'
import { currentNonce } from '../../domain/tokens/dpop.ts'
import { headerFields } from '../../http/header-fields.ts'
import { presentedToken } from '../../protocol/oauth/bearer-token.ts'
import { OAuthError } from '../../protocol/oauth/oauth-error.ts'
import type { Members } from '../members/member.ts'
import { subjectOf } from '../operations/all.ts'
import { cursorsOf, placesIn } from '../operations/cursor.ts'
import { type JsonSchema, Type } from '../operations/json-schema.ts'
import {
  type Call,
  etagOf,
  type Listed,
  matcher,
  type Operation,
  type OperationKind,
  perform,
  type Result,
} from '../operations/operation.ts'
import { inputSchema, USUAL_LIMIT } from '../operations/schemas.ts'
import type { ServerService } from '../operations/service.ts'
import type { Admin } from './admin.ts'
import { answersOf } from './answers.ts'
import { Problem } from './problem.ts'

const METHODS = { list: 'GET', get: 'GET', create: 'POST', change: 'PATCH', set: 'PUT', delete: 'DELETE', act: 'POST' } as const
const CLOSED = { additionalProperties: false } as const
const NONE = Type.Object({}, CLOSED)
const ID = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }, CLOSED)
const URI = Type.Object({ id: Type.String({ minLength: 1, maxLength: 2000, description: 'The URI, percent-encoded.' }) }, CLOSED)

/** The path of an operation; null if another operation of the API does the same. */
function pathOf({ subject, kind, verb, path }: Operation): string | null {
  if (path === null) return null
  const rest = path ?? (kind === 'list' || kind === 'create' ? '' : kind === 'act' ? `:id/${verb}` : ':id')
  return `/v1/${subject}${rest === '' ? '' : `/${rest}`}`
}

/** Adds the route of the operation, which runs only for an operator whose token and role have the scope. */
export function addRoute(server: FastifyInstance, admin: Admin, service: ServerService, operation: Operation): void {
  const url = pathOf(operation)
  if (url === null) return
  const authorized = new WeakMap<FastifyRequest, Authorized>()
  server.route({
    method: METHODS[operation.kind],
    url,
    schema: schemaOf(operation, url),
    // Runs before the body is read, so the body of a caller without access is never parsed.
    onRequest: async (request, reply) => void authorized.set(request, await authorizeCaller(admin, operation, request, reply)),
    handler: async (request, reply) => {
      const caller = authorized.get(request)
      if (!caller) throw new Error('the request has no operator')
      const { id, role } = isRead(operation.kind) ? caller.operator : await caller.checkAgain()
      const actor = { kind: 'listed', id, role, scopes: caller.scopes } as const
      const result = await perform(operation, { ...callOf(service, operation, request), service, actor })
      return send(reply, service, operation, result)
    },
  })
}

const isRead = (kind: OperationKind): boolean => kind === 'list' || kind === 'get'
const hasQuery = (kind: OperationKind): boolean => isRead(kind) || kind === 'delete'

function schemaOf(operation: Operation, url: string) {
  const { id, subject, summary, description, scope, kind, refusals } = operation
  const params = url.includes(':id') ? { params: subjectOf(subject).ids?.kind === 'uri' ? URI : ID } : {}
  const input = inputSchema(operation)
  const body = input && !hasQuery(kind) ? { body: input } : {}
  const headers = {
    ...(refusals.includes('changed_meanwhile') && IF_MATCH),
    ...(refusals.includes('idempotency_key_reused') && IDEMPOTENCY_KEY),
  }
  return {
    operationId: id,
    tags: [subject],
    summary,
    ...(description && { description }),
    security: [{ oauth: [scope] }],
    ...params,
    querystring: (hasQuery(kind) && input) || NONE,
    ...body,
    ...(Object.keys(headers).length > 0 && { headers: Type.Object(headers) }),
    response: answersOf(operation, { hasId: 'params' in params, hasBody: 'body' in body, hasInput: input !== null }),
  }
}

const IF_MATCH: Record<string, JsonSchema> = {
  'if-match': Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'The ETag of the record as it was read. The change is refused if the record has changed since.',
    }),
  ),
}
const IDEMPOTENCY_KEY: Record<string, JsonSchema> = {
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: /^[A-Za-z0-9_-]{16,100}$/u,
      description:
        'A random text. A request that is repeated with the same key creates nothing more and has the same result, for as long as the service keeps its key for refresh tokens.',
    }),
  ),
}

type RouteQuery = Members & { limit?: number; after?: string; before?: string }

function callOf(service: ServerService, operation: Operation, request: FastifyRequest): Omit<Call, 'service' | 'actor'> {
  const { limit = USUAL_LIMIT, after, before, ...query } = request.query as RouteQuery
  const key = request.headers['idempotency-key']
  return {
    id: (request.params as { id?: string }).id ?? '',
    input: hasQuery(operation.kind) ? query : ((request.body ?? {}) as Members),
    page: {
      limit,
      ...placesIn(service.keys().ring, operation, {
        ...(after !== undefined && { after }),
        ...(before !== undefined && { before }),
      }),
    },
    requireMatch: matcher(operation.refusals.includes('changed_meanwhile') ? request.headers['if-match'] : undefined),
    idempotencyKey: typeof key === 'string' ? key : undefined,
  }
}

function send(
  reply: FastifyReply,
  service: ServerService,
  operation: Operation,
  { output, record, isNew }: Result,
): FastifyReply {
  const { answers, isPaged } = operation
  if (record) void reply.header('etag', etagOf(record))
  if (answers.started && isNew) {
    const { job_id: id } = output as { job_id: string }
    return reply.code(202).header('location', `/v1/jobs/${id}`).send(output)
  }
  if (operation.output === null) return reply.code(204).send()
  void reply.code(isNew && answers.created ? 201 : 200)
  if (!isPaged) return reply.send(output)
  const { items, total, ...places } = output as Listed
  return reply.send({ items, ...cursorsOf(service.keys().ring, operation, places), ...(total && { total }) })
}

async function authorizeCaller(
  { deps, store, adminUrl }: Admin,
  { scope }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Authorized> {
  const nonce = request.headers.dpop === undefined ? null : currentNonce(deps)
  if (nonce !== null) void reply.header('dpop-nonce', nonce)
  const presented = presentedToken(headerFields(request, 'authorization'), null)
  if (presented.kind !== 'token') throw new Problem('unauthorized', 'Present one access token in the header Authorization.')
  const { scheme, token } = presented
  const [path = ''] = request.url.split('?', 1)
  const proof = { proofs: headerFields(request, 'dpop'), method: request.method, path, origin: adminUrl, network: null }
  async function withScheme<Checked>(check: () => Promise<Checked>): Promise<Checked> {
    try {
      return await check()
    } catch (error) {
      if (error instanceof OAuthError) error.tokenScheme = scheme
      throw error
    }
  }
  const { checkAgain, ...caller } = await withScheme(async () =>
    authorizeOperator({ deps, lists: store.lists, adminUrl }, { scheme, token, presented: proof }, scope),
  )
  return { ...caller, checkAgain: async () => withScheme(checkAgain) }
}
