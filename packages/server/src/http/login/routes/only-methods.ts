import type { FastifyInstance } from 'fastify'
import { methodNotAllowed } from '../refusal.ts'
import { refuse } from '../refusal-reply.ts'

/** Refuses every other method at this path with 405, before its body is read (RFC 9110 §15.5.6: with Allow). */
export function onlyMethods(server: FastifyInstance, url: string, allowed: ('GET' | 'POST')[]): void {
  const accepted: string[] = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed
  server.route({
    method: server.supportedMethods.filter((method) => !accepted.includes(method)),
    url,
    onRequest: async (request, reply) => refuse(request, reply.header('allow', accepted.join(', ')), methodNotAllowed()),
    handler: () => undefined,
  })
}
