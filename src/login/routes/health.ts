import type { FastifyInstance } from 'fastify'
import { sendJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/**
 * `/health/live`, `/health/ready`: both say that this process answers; the latter no longer once it was told to stop.
 *
 * Readiness does not ask the auth service: taken out of rotation with it, this server could no longer tell people in plain
 * words to try again in a moment.
 */
export function addHealthRoutes(server: FastifyInstance, { isStopping }: { isStopping?: (() => boolean) | undefined }): void {
  server.get('/health/live', (_request, reply) => sendJson(reply, { status: 'ok' }))
  server.get('/health/ready', (_request, reply) =>
    isStopping?.()
      ? sendJson(reply.code(503).header('retry-after', '5'), { status: 'unavailable', problem: 'stopping' })
      : sendJson(reply, { status: 'ok' }),
  )
  for (const url of ['/health/live', '/health/ready']) onlyMethods(server, url, ['GET'])
}
