import type { FastifyReply } from 'fastify'
import { readerOf } from '../../pages/languages.ts'
import { noticePage } from '../../pages/notice-page.ts'
import { type Form, serializeForm } from '../../protocol/oauth/form.ts'

/**
 * 302, never 307 (OpenID Connect Core §16.22), with an empty body and without any part of the request (RFC 9700 §2.1).
 * The URI is sent byte for byte.
 */
export function redirect(reply: FastifyReply, to: string): FastifyReply {
  return sendTo(reply, 302, to)
}

/** 303: the next page shows the result of the form (RFC 9110 §15.4.4, RFC 9700 §4.12). Only for paths of this service. */
export function seeOther(reply: FastifyReply, path: string): FastifyReply {
  return sendTo(reply, 303, path)
}

/** With the other headers, this is well below Node's limit for the head of a request. */
const PATH_AT_MOST = 12_000

/**
 * Repeats another site's form post as the equivalent GET. The cookies are SameSite=Lax: browsers do not send them with
 * such a post, but they send them with the GET that follows.
 */
export function repeatAsGet(reply: FastifyReply, path: string, form: Form): FastifyReply {
  const target = `${path}?${serializeForm(form)}`
  if (target.length > PATH_AT_MOST) return reply.code(413).send(noticePage({ kind: 'too_large' }, readerOf(reply)))
  return seeOther(reply, target)
}

function sendTo(reply: FastifyReply, status: number, to: string): FastifyReply {
  return reply.code(status).removeHeader('content-type').header('location', to).header('content-length', '0').send()
}
