import type { FastifyInstance } from 'fastify'
import { foreignOrigin } from './refusal.ts'

/**
 * Refuses every POST that a browser sends from another site or from a page without an origin (`Origin: null`): a page
 * of another site must not sign, deny or choose accounts for the user. Browsers always send Origin with a POST. A
 * request without Origin comes from a tool such as curl, which has no user's cookies.
 */
export function checkOrigin(server: FastifyInstance, loginUrl: string): void {
  const ours = new URL(loginUrl).origin
  server.addHook('onRequest', async (request) => {
    const { origin } = request.headers
    if (request.method === 'POST' && origin !== undefined && origin !== ours) throw foreignOrigin()
  })
}
