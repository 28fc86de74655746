import type { FastifyInstance } from 'fastify'
import { foreignOrigin } from './refusal.ts'

/**
 * Turns away every POST that a browser sends from another site, or from a page without an origin (`Origin: null`): somebody
 * else's page must not sign, deny or pick accounts in a person's name. Browsers always send Origin with a POST; a request
 * without one comes from a tool such as curl, which carries nobody's cookies.
 */
export function checkOrigin(server: FastifyInstance, loginUrl: string): void {
  const ours = new URL(loginUrl).origin
  server.addHook('onRequest', async (request) => {
    const { origin } = request.headers
    if (request.method === 'POST' && origin !== undefined && origin !== ours) throw foreignOrigin()
  })
}
