import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readerOf } from '../../pages/languages.ts'
import { type NoticeKind, noticePage } from '../../pages/notice-page.ts'
import { type PolicyAdditions, pageHeaders } from '../../pages/page-headers.ts'
import { parseForm, queryOf } from '../../protocol/oauth/form.ts'
import type { Posted } from './posted.ts'
import { invalidRequest, notFound, Refusal, tooLarge, unsupportedType } from './refusal.ts'

/** Sends every refusal, of this server or of the auth service, and every defect: as JSON to a script, as a page to a user. */
export function answerRefusals(server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => {
    const refusal = asRefusal(error)
    if (!refusal) request.log.error({ err: error }, 'defect')
    return refuse(request, reply, refusal ?? defect(request))
  })
  server.setNotFoundHandler((request, reply) => refuse(request, reply, notFound()))
}

export function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  reply.status(refusal.status)
  if (refusal.retryAfter !== undefined) reply.header('retry-after', String(refusal.retryAfter))
  if (wantsJson(request)) return sendJson(reply, { error: refusal.error, error_description: refusal.description })
  return sendPage(
    reply,
    noticePage(
      {
        kind: noticeFor(refusal),
        retryUrl: retryUrl(request, refusal),
        retryAfter: refusal.retryAfter,
        requestId: refusal.status === 500 ? request.id : undefined,
      },
      readerOf(reply),
    ),
  )
}

export function sendPage(reply: FastifyReply, page: string, more?: PolicyAdditions): FastifyReply {
  return reply.headers(pageHeaders(reply, undefined, more)).send(page)
}

export function sendJson(reply: FastifyReply, body: Record<string, unknown>): FastifyReply {
  const headers = { ...pageHeaders(reply), 'content-type': 'application/json; charset=utf-8', pragma: 'no-cache' }
  return reply.headers(headers).send(JSON.stringify(body))
}

/** A client that sends JSON, or accepts JSON but not HTML, is a program. */
export function wantsJson({ headers }: FastifyRequest): boolean {
  const accepts = headers.accept ?? ''
  const isProgram = accepts.includes('application/json') && !accepts.includes('text/html')
  return isProgram || /^application\/json\b/i.test(headers['content-type'] ?? '')
}

/** Fastify's own refusals have a status below 500: the body is too large, of another type, or incomplete. */
function asRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error
  const status = (error as { statusCode?: unknown }).statusCode
  if (status === 413) return tooLarge()
  if (status === 415) return unsupportedType()
  return typeof status === 'number' && status >= 400 && status < 500 ? invalidRequest('The request is malformed.') : null
}

function defect(request: FastifyRequest): Refusal {
  return new Refusal(500, 'server_error', `Something went wrong on our side. Quote request ${request.id}.`)
}

const BY_ERROR: Record<string, NoticeKind> = {
  address_not_allowed: 'address_not_allowed',
  chain_not_allowed: 'chain_not_allowed',
  continued_elsewhere: 'continued_elsewhere',
  foreign_origin: 'foreign_origin',
  signed_on_other_device: 'signed_on_other_device',
}

const BY_STATUS: Record<number, NoticeKind> = {
  400: 'broken_link',
  404: 'not_found',
  405: 'wrong_method',
  409: 'already_used',
  410: 'expired',
  413: 'too_large',
  415: 'wrong_type',
  429: 'too_many_failures',
  503: 'unavailable',
}

function noticeFor({ error, status }: Refusal): NoticeKind {
  return BY_ERROR[error] ?? BY_STATUS[status] ?? 'defect'
}

/** The form of the same sign-in, if another attempt can help. */
function retryUrl(request: FastifyRequest, { status, error }: Refusal): string | undefined {
  if (![403, 429, 500, 503].includes(status) || error === 'foreign_origin') return undefined
  const posted = (request.body as Posted | undefined)?.loginChallenge
  const [inQuery] = parseForm(queryOf(request.raw.url ?? '')).get('login_challenge') ?? []
  const challenge = posted ?? inQuery?.text
  return challenge ? `/login?login_challenge=${encodeURIComponent(challenge)}` : undefined
}
