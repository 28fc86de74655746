import type { FastifyInstance } from 'fastify'
import { sendJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/**
 * `/health/live`, `/health/ready`: both say that this process answers.
 *
 * Readiness does not ask the auth service: taken out of rotation with it, this server could no longer tell people in plain
 * words to try again in a moment.
 */
export function addHealthRoutes(server: FastifyInstance): void {
  for (const url of ['/health/live', '/health/ready']) {
    server.get(url, (_request, reply) => sendJson(reply, { status: 'ok' }))
    onlyMethods(server, url, ['GET'])
  }
}
