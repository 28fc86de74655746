/**
 * The responses to refusals, store failures and defects.
 *
 * The client receives the RFC's code and one fixed wording; the precise reason goes to the audit log. A store failure
 * is always 503. A defect is 500 with a request id and nothing else.
 */

import { DPOP_ALGORITHMS } from '@grantor/protocol/dpop'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LoginError } from '../../domain/login/login-error.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { networkOfCaller } from '../../observability/log/request-log.ts'
import { hasClientCause } from '../../pages/client-causes.ts'
import { readerOf } from '../../pages/languages.ts'
import type { NoticeKind } from '../../pages/notice-page.ts'
import { pageHeaders } from '../../pages/page-headers.ts'
import { invalidRequest, OAuthError, serverError, storeUnavailable } from '../../protocol/oauth/oauth-error.ts'
import type { Reason, ReasonOf } from '../../protocol/oauth/reasons.ts'
import { MalformedHost, type MalformedHttp } from '../malformed-http.ts'
import { messagesOf } from '../outage-log.ts'
import { UnsupportedMediaType } from './form-body.ts'
import { NotANavigation } from './navigation.ts'
import { ForeignOrigin } from './own-origin.ts'
import { refusalPage } from './refusal-page.ts'
import type { HttpService } from './service.ts'

/**
 * Headers of every JSON response (RFC 6749 §5.1): caches must not keep any, particularly not introspection results
 * (RFC 7662 §5).
 */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

/** The challenge for a bearer token (RFC 6750 §3). */
const BEARER_CHALLENGE = 'Bearer realm="grantor"'
const DPOP_ALGS = `algs="${DPOP_ALGORITHMS.join(' ')}"`
/** The challenge if no token was presented: both schemes are accepted (RFC 9449 §7.2). */
export const TOKEN_CHALLENGE = `${BEARER_CHALLENGE}, DPoP ${DPOP_ALGS}`

type ErrorAnswer = {
  status: number
  body: { error: string; error_description: string }
  notice: NoticeKind
  reason: Reason
  headers: Record<string, string>
  retryAfter?: number | undefined
}

export function replyWithError(service: HttpService, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = answerTo(error, request.id)
  request.isClientAway = answer.status >= 500 && answer.notice === 'client_unavailable'
  if (error instanceof StoreUnavailable) service.storeOutage.failed({ problem: messagesOf(error) })
  else if (answer.status >= 500 && !request.isClientAway)
    request.log.error({ ...faultOf(error), request_id: request.id }, answer.reason)
  // A device that polls is refused every few seconds until its user has answered (RFC 8628 §3.5): that is no fault.
  else if (answer.reason !== 'answer_pending')
    service.deps.audit({
      event: 'refused',
      reason: answer.reason,
      request_id: request.id,
      network: networkOfCaller(request),
      ...clientOf(error),
      ...causeOf(error),
    })
  service.metrics?.countRefusal(answer.body.error, answer.reason)
  service.tracing?.noteRefusal(request, answer.reason)
  reply.code(answer.status).headers(answer.headers)
  if (request.routeOptions.config.answers === 'page') {
    const reason = answer.status < 500 || answer.notice === 'client_unavailable' ? answer.reason : undefined
    const { notice: kind, retryAfter: wait } = answer
    return reply
      .headers(pageHeaders(reply))
      .send(refusalPage(service, { kind, reason, retryAfter: wait, requestId: request.id }, readerOf(reply)))
  }
  return reply.headers(JSON_HEADERS).send(answer.body)
}

/** An outage elsewhere, of a chain or of the hook, is a problem without a stack. Any other error is a defect of this program. */
function faultOf(error: unknown): { problem: string } | { err: unknown } {
  return error instanceof OAuthError || error instanceof LoginError ? { problem: error.message } : { err: error }
}

/** Records a request that the HTTP parser refused. Its response was sent before. */
export function noteMalformed(service: HttpService, { reason, requestId, network }: MalformedHttp): void {
  service.deps.audit({ event: 'refused', reason, request_id: requestId, network })
  service.metrics?.countRefusal('invalid_request', reason)
}

function clientOf(error: unknown): { client_id?: string } {
  return error instanceof OAuthError && error.clientId !== undefined ? { client_id: error.clientId } : {}
}

function causeOf(error: unknown): { details?: { cause: string } } {
  return error instanceof OAuthError && error.detail !== undefined ? { details: { cause: error.detail } } : {}
}

function answerTo(error: unknown, requestId: string): ErrorAnswer {
  if (error instanceof OAuthError) return oauthAnswer(error)
  if (error instanceof LoginError) return loginAnswer(error)
  if (error instanceof StoreUnavailable) return { ...oauthAnswer(storeUnavailable()), notice: 'unavailable' }
  if (error instanceof ForeignOrigin) {
    const refusal = invalidRequest('foreign_origin', 'The request comes from another site.')
    return { ...plain(403, refusal.toBody(), refusal.reason), notice: 'foreign_origin' }
  }
  if (error instanceof NotANavigation) {
    const refusal = invalidRequest(error.reason, 'Open this address as a page.')
    return { ...plain(403, refusal.toBody(), refusal.reason), notice: 'not_a_navigation' }
  }
  if (error instanceof MalformedHost) {
    const refusal = invalidRequest('host_malformed', 'Send one Host header with a host and, if needed, a port.')
    return plain(400, refusal.toBody(), refusal.reason)
  }
  const status = error instanceof UnsupportedMediaType ? 415 : statusOf(error)
  if (status >= 400 && status < 500) return protocolAnswer(status)
  return { ...oauthAnswer(serverError(requestId)), notice: 'defect' }
}

function loginAnswer(error: LoginError): ErrorAnswer {
  return plain(error.status, error.toBody(), error.reason)
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

function oauthAnswer(error: OAuthError): ErrorAnswer {
  const headers = retryAfter(error.retryAfter)
  // RFC 6749 §5.2, RFC 7617 §2.1
  if (error.error === 'invalid_client') headers['www-authenticate'] = 'Basic realm="grantor", charset="UTF-8"'
  if (error.tokenScheme !== undefined) headers['www-authenticate'] = tokenChallenge(error)
  const notice = noticeOf(error)
  return { status: error.status, body: error.toBody(), notice, reason: error.reason, headers, retryAfter: error.retryAfter }
}

function noticeOf({ reason, status }: OAuthError): NoticeKind {
  if (hasClientCause(reason)) return 'client_unavailable'
  // The hook of the operator gave no usable answer.
  return status === 503 && reason.startsWith('hook_') ? 'unavailable' : 'malformed_request'
}

/** RFC 6750 §3, RFC 9449 §7.1 */
function tokenChallenge({ error, description, tokenScheme }: OAuthError): string {
  const scope = error === 'insufficient_scope' ? ', scope="openid"' : ''
  const why = `error="${error}", error_description="${description}"${scope}`
  if (tokenScheme === 'DPoP') return `DPoP realm="grantor", ${why}, ${DPOP_ALGS}`
  // The response to a caller that presents a bound token without a proof names what is missing.
  return error === 'invalid_token' ? `${BEARER_CHALLENGE}, ${why}, DPoP ${DPOP_ALGS}` : `${BEARER_CHALLENGE}, ${why}`
}

/** Refusals of the framework before a route runs: too large, wrong type, or not a valid request. */
function protocolAnswer(status: number): ErrorAnswer {
  const [reason, words] = PROTOCOL[status] ?? (['http_400', 'The request is malformed.'] as const)
  const refusal = invalidRequest(reason, words)
  return plain(status, refusal.toBody(), refusal.reason)
}

const PROTOCOL: Readonly<Record<number, readonly [reason: ReasonOf<'invalid_request'>, description: string]>> = {
  413: ['http_413', 'The body is larger than 16 KiB.'],
  415: ['http_415', 'The body must be application/x-www-form-urlencoded in UTF-8.'],
  431: ['http_431', 'A header field is too long.'],
}

function plain(status: number, body: ErrorAnswer['body'], reason: Reason): ErrorAnswer {
  return { status, body, reason, notice: 'malformed_request', headers: {} }
}

export function statusOf(error: unknown): number {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' ? status : 500
}
