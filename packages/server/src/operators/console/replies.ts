/** Responses of the console. */
import type { FastifyReply } from 'fastify'
import { pageHeaders } from '../../pages/page-headers.ts'

export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.headers(pageHeaders(reply)).send(page)
}

/** 303: the next request is a GET (RFC 9110 §15.4.4). */
export function redirectTo(reply: FastifyReply, address: string): FastifyReply {
  return reply.code(303).headers({ location: address, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' }).send()
}
