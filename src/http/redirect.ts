import type { FastifyReply } from 'fastify'

/** 302 with an empty body. The URI is sent as the bytes it is. */
export function redirect(reply: FastifyReply, to: string): FastifyReply {
  return sendTo(reply, 302, to)
}

/** 303: what a form did is shown by the page it leads to (RFC 9110 §15.4.4). A path of our own only. */
export function seeOther(reply: FastifyReply, path: string): FastifyReply {
  return sendTo(reply, 303, path)
}

function sendTo(reply: FastifyReply, status: number, to: string): FastifyReply {
  return reply.code(status).removeHeader('content-type').header('location', to).header('content-length', '0').send()
}
