import type { FastifyInstance } from 'fastify'
import type { AuthService } from '../auth-service.ts'
import { challengeOf } from '../posted.ts'
import { Refusal } from '../refusal.ts'
import { sendJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/** The state of a sign-in while its page is open. */
type Status = 'open' | 'already_used' | 'continued_elsewhere' | 'expired'

/**
 * `GET /login/status?login_challenge=C`: whether the sign-in is still open. The page polls it while the user may be
 * signing on a phone. The response reveals nothing about the signer, and no more than `GET /login`.
 */
export function addStatusRoute(server: FastifyInstance, { authService }: { authService: AuthService }): void {
  onlyMethods(server, '/login/status', ['GET'])
  server.get('/login/status', async (request, reply) => {
    const status = await statusOf(authService, challengeOf(request))
    return sendJson(reply, { status })
  })
}

async function statusOf(authService: AuthService, loginChallenge: string): Promise<Status> {
  try {
    await authService.readChallenge(loginChallenge)
    return 'open'
  } catch (error) {
    if (error instanceof Refusal && error.status === 410) return 'expired'
    if (error instanceof Refusal && error.status === 409)
      return error.error === 'continued_elsewhere' ? 'continued_elsewhere' : 'already_used'
    throw error
  }
}
