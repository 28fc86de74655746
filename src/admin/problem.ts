/**
 * Problem documents (RFC 9457). The member `code` is for programs, `detail` is for people, and `faults` lists each fault of a request.
 * `type` is "about:blank", because `code` already identifies the kind of problem (§4.2.1).
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { StoreUnavailable } from '../domain/model/store-errors.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import { Refusal, type RefusalCode } from '../operations/refusal.ts'
import { MalformedHost } from '../ops/malformed-http.ts'
import type { Admin } from './admin.ts'

export type ProblemCode =
  | RefusalCode
  | 'malformed_request'
  | 'unauthorized'
  | 'method_not_allowed'
  | 'too_large'
  | 'path_too_long'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'unavailable'
  | 'defect'

export const STATUS: Readonly<Record<ProblemCode, number>> = {
  malformed_request: 400,
  invalid_request: 422,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  changed_meanwhile: 412,
  idempotency_key_reused: 422,
  too_large: 413,
  path_too_long: 414,
  unsupported_media_type: 415,
  headers_too_large: 431,
  unavailable: 503,
  defect: 500,
}

/** A refusal of an HTTP request. `detail` and `faults` are sent to the caller. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly faults: readonly string[]

  constructor(code: ProblemCode, detail: string, faults: readonly string[] = []) {
    super(detail)
    this.code = code
    this.faults = faults
  }
}

const PROBLEM_HEADERS = {
  'content-type': 'application/problem+json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const

export function replyWithProblem(admin: Admin, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemOf(error)
  const status = STATUS[problem.code]
  if (status === 500) request.log.error({ err: error, request_id: request.id }, 'defect')
  else if (error instanceof OAuthError) {
    admin.deps.audit({ event: 'refused', reason: error.reason, request_id: request.id })
    reply.header('www-authenticate', challengeOf(error, admin.adminUrl))
  } else if (status === 401) reply.header('www-authenticate', `Bearer ${metadataOf(admin.adminUrl)}`)
  if (status === 503) reply.header('retry-after', '5')
  const reason = error instanceof OAuthError ? error.reason : problem.code
  admin.metrics?.countRefusal('admin', reason)
  admin.tracing?.noteRefusal(request, reason)
  return reply
    .code(status)
    .headers(PROBLEM_HEADERS)
    .send({
      type: 'about:blank',
      title: STATUS_CODES[status],
      status,
      code: problem.code,
      detail: problem.message,
      ...(problem.faults.length > 0 && { faults: problem.faults }),
      request_id: request.id,
    })
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
  switch ((error as { statusCode?: unknown } | null)?.statusCode) {
    case 400:
      return new Problem('malformed_request', 'The request is malformed.')
    case 413:
      return new Problem('too_large', 'The body is larger than 64 KiB.')
    case 414:
      return new Problem('path_too_long', 'A parameter in the path is too long.')
    case 415:
      return new Problem('unsupported_media_type', 'The body must be application/json.')
    case 431:
      return new Problem('headers_too_large', 'A header field is too long.')
    default:
      return new Problem('defect', 'Something went wrong on our side. Quote the request id.')
  }
}

/** RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1 */
function challengeOf({ error, tokenScheme }: OAuthError, adminUrl: string): string {
  return `${tokenScheme ?? 'Bearer'} error="${error}", ${metadataOf(adminUrl)}`
}

function metadataOf(adminUrl: string): string {
  return `resource_metadata="${adminUrl}/.well-known/oauth-protected-resource"`
}
