import type { FastifyInstance } from 'fastify'
import { sendJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/**
 * `/health/live` and `/health/ready`: the process responds. `/health/ready` fails once the process is stopping.
 *
 * Readiness does not depend on the auth service: if this server were taken out of rotation with the auth service,
 * users would get no page with the advice to try again.
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
