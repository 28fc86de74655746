import type { FastifyReply } from 'fastify'
import { type Form, serializeForm } from '../oauth/form.ts'
import { noticePage } from '../pages/notice-page.ts'

/** 302, never 307 (OpenID Connect Core §16.22), with an empty body, and nothing of the request's (RFC 9700 §2.1). The URI is sent as the bytes it is. */
export function redirect(reply: FastifyReply, to: string): FastifyReply {
  return sendTo(reply, 302, to)
}

/** 303: what a form did is shown by the page it leads to (RFC 9110 §15.4.4, RFC 9700 §4.12). A path of our own only. */
export function seeOther(reply: FastifyReply, path: string): FastifyReply {
  return sendTo(reply, 303, path)
}

/** With the headers around it, well within what a Node server takes for the head of a request. */
const PATH_AT_MOST = 12_000

/**
 * Another site's form post, asked again as the GET that it also could have been. Our cookies are SameSite=Lax: they do not come
 * along with such a post, but they do with the GET that follows it.
 */
export function repeatAsGet(reply: FastifyReply, path: string, form: Form): FastifyReply {
  const target = `${path}?${serializeForm(form)}`
  if (target.length > PATH_AT_MOST) return reply.code(413).send(noticePage({ kind: 'too_large' }))
  return seeOther(reply, target)
}

function sendTo(reply: FastifyReply, status: number, to: string): FastifyReply {
  return reply.code(status).removeHeader('content-type').header('location', to).header('content-length', '0').send()
}
