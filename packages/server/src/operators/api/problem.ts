/**
 * Problem documents (RFC 9457). The member `code` is for programs, and `detail` is for people. `faults` lists each fault of a request as a
 * sentence, and `errors` lists the same faults, each with the member that it concerns.
 * `type` is "about:blank", because `code` already identifies the kind of problem (§4.2.1).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Fault, wordsOf as sentencesOf } from '../../domain/model/fault.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { MalformedHost, type MalformedHttpOptions } from '../../http/malformed-http.ts'
import { STATUS_CODES } from '../../http/node-http.ts'
import { messagesOf } from '../../http/outage-log.ts'
import { networkOfCaller } from '../../observability/log/request-log.ts'
import { OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { Refusal, type RefusalCode } from '../operations/refusal.ts'
import type { Admin } from './admin.ts'

type ProblemRow = {
  status: number
  /** for the OpenAPI document */
  words?: string
  /** what a caller reads, unless the refusal has a sentence of its own */
  detail?: string
}

const PROBLEMS = {
  malformed_request: { status: 400, words: 'The request cannot be read.', detail: 'The request is malformed.' },
  unauthorized: { status: 401, words: 'The access token is missing, invalid, expired or revoked.' },
  forbidden: { status: 403, words: 'The scopes of the access token or the role of the operator do not allow the operation.' },
  not_found: { status: 404, words: 'There is no such record.' },
  method_not_allowed: { status: 405 },
  request_timeout: { status: 408 },
  conflict: { status: 409, words: 'The state of the record does not allow the change.' },
  changed_meanwhile: { status: 412, words: 'The record was changed since it was read (If-Match).' },
  too_large: { status: 413, words: 'The body is too large.', detail: 'The body is larger than 64 KiB.' },
  path_too_long: { status: 414, words: 'The path is too long.', detail: 'A parameter in the path is too long.' },
  unsupported_media_type: { status: 415, words: 'The body is not JSON.', detail: 'The body must be application/json.' },
  expectation_failed: { status: 417 },
  invalid_request: {
    status: 422,
    words:
      'The request has faults. The member `faults` lists them, and `errors` names the member of the body that each concerns.',
  },
  idempotency_key_reused: { status: 422 },
  headers_too_large: {
    status: 431,
    words: 'The header fields or the address are too long.',
    detail: 'A header field is too long.',
  },
  defect: { status: 500, detail: 'Something went wrong on our side. Quote the request id.' },
  unavailable: { status: 503, words: 'The store cannot be reached. Nothing was changed, or the change can be repeated.' },
} as const satisfies Record<string, ProblemRow> & Record<RefusalCode, ProblemRow>
export type ProblemCode = keyof typeof PROBLEMS

const ROWS: Readonly<Record<ProblemCode, ProblemRow>> = PROBLEMS
const CODES = Object.keys(PROBLEMS) as ProblemCode[]

export function statusOf({ code }: Pick<Problem, 'code'>): number {
  return ROWS[code].status
}

/** The description of a status in the OpenAPI document. */
export function wordsOf(status: number): string {
  return Object.values(ROWS).find((row) => row.status === status)?.words ?? ''
}

/** A refusal of an HTTP request. `detail` and `faults` are sent to the caller: each fault as a sentence, and as an error with its member. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly faults: readonly Fault[]

  constructor(code: ProblemCode, detail: string, faults: readonly Fault[] = []) {
    super(detail)
    this.code = code
    this.faults = faults
  }
}

const PROBLEM_TYPE = 'application/problem+json'
const PROBLEM_HEADERS = {
  'content-type': `${PROBLEM_TYPE}; charset=utf-8`,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const

export function replyWithProblem(admin: Admin, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemOf(error)
  const status = statusOf(problem)
  if (error instanceof StoreUnavailable) admin.storeOutage.failed({ problem: messagesOf(error) })
  if (status === 500) request.log.error({ err: error, request_id: request.id }, 'defect')
  else if (error instanceof OAuthError) {
    admin.deps.audit({ event: 'refused', reason: error.reason, request_id: request.id, network: networkOfCaller(request) })
    reply.header('www-authenticate', challengeOf(error, admin.adminUrl))
  } else if (status === 401) reply.header('www-authenticate', `Bearer ${metadataOf(admin.adminUrl)}`)
  if (status === 503) reply.header('retry-after', '5')
  const reason = error instanceof OAuthError ? error.reason : problem.code
  admin.metrics?.countRefusal('admin', reason)
  admin.tracing?.noteRefusal(request, reason)
  return reply.code(status).headers(PROBLEM_HEADERS).send(documentOf(problem, request.id))
}

function documentOf(problem: Problem, requestId: string): object {
  const status = statusOf(problem)
  return {
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    code: problem.code,
    detail: problem.message,
    ...(problem.faults.length > 0 && {
      faults: sentencesOf(problem.faults),
      errors: problem.faults.map(({ member, words }) => ({ member, detail: words })),
    }),
    request_id: requestId,
  }
}

/** The document for a request that reaches no route, because the HTTP parser refuses the request. */
export const writeMalformed: NonNullable<MalformedHttpOptions['write']> = ({ status, description, requestId }) => {
  // A status of the parser belongs to one code.
  const code = CODES.find((each) => ROWS[each].status === status) ?? 'malformed_request'
  return { type: PROBLEM_TYPE, body: documentOf(new Problem(code, description), requestId) }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Refusal) return new Problem(error.code, error.message, error.faults)
  if (error instanceof OAuthError)
    return error.status === 403
      ? new Problem('forbidden', 'The access token or the role of the operator does not allow this.')
      : new Problem('unauthorized', 'This needs a valid access token for the admin API.')
  if (error instanceof StoreUnavailable)
    return new Problem('unavailable', 'The store cannot be reached right now. Try again in a moment.')
  if (error instanceof MalformedHost)
    return new Problem('malformed_request', 'Send one Host header with a host and, if needed, a port.')
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  const code = CODES.find((each) => ROWS[each].status === status && ROWS[each].detail !== undefined) ?? 'defect'
  return new Problem(code, ROWS[code].detail ?? '')
}

/** RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1 */
function challengeOf({ error, tokenScheme }: OAuthError, adminUrl: string): string {
  return `${tokenScheme ?? 'Bearer'} error="${error}", ${metadataOf(adminUrl)}`
}

function metadataOf(adminUrl: string): string {
  return `resource_metadata="${adminUrl}/.well-known/oauth-protected-resource"`
}
