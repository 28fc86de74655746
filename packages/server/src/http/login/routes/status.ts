import type { FastifyInstance } from 'fastify'
import type { AuthService } from '../auth-service.ts'
import { challengeOf } from '../posted.ts'
import { Refusal } from '../refusal.ts'
import { sendJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/** The state of a sign-in while its page is open. */
type Status = 'open' | 'signed_on_other_device' | 'already_used' | 'continued_elsewhere' | 'expired'

/**
 * `GET /login/status?login_challenge=C`: whether the sign-in is still open. The page polls it while the user may be
 * signing on a phone. The response reveals nothing about the signer, and no more than `GET /login`.
 */
export function addStatusRoute(server: FastifyInstance, { authService }: { authService: AuthService }): void {
  onlyMethods(server, '/login/status', ['GET'])
  server.get('/login/status', async (request, reply) => {
    return sendJson(reply, await statusOf(authService, challengeOf(request)))
  })
}

/** `redirect_to`: the address at which the browser continues after another device has signed. Only that browser can continue there. */
async function statusOf(authService: AuthService, loginChallenge: string): Promise<{ status: Status; redirect_to?: string }> {
  try {
    const { crossDevice } = await authService.readChallenge(loginChallenge)
    return crossDevice?.signed ? { status: 'signed_on_other_device', redirect_to: crossDevice.continueUrl } : { status: 'open' }
  } catch (error) {
    if (error instanceof Refusal && error.status === 410) return { status: 'expired' }
    if (error instanceof Refusal && error.status === 409) return { status: endingOf(error) }
    throw error
  }
}

/** `signed_on_other_device`: this page is on a device that began to sign for another browser, and a wallet elsewhere signed first. */
function endingOf({ error }: Refusal): Status {
  return error === 'continued_elsewhere' || error === 'signed_on_other_device' ? error : 'already_used'
}
