import type { FastifyInstance } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import type { AuthService } from '../auth-service.ts'
import { postedOf } from '../posted.ts'
import { sendJson, sendPage, wantsJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/**
 * `POST /login/deny`: the user declines the sign-in. The browser returns to the app, which receives `access_denied` and
 * its `state`.
 */
export function addDenyRoute(server: FastifyInstance, { authService }: { authService: AuthService }): void {
  onlyMethods(server, '/login/deny', ['POST'])
  server.post('/login/deny', async (request, reply) => {
    const { loginChallenge } = postedOf(request)
    const loginRequest = await authService.readChallenge(loginChallenge)
    const { status, redirectTo } = await authService.reject({ loginChallenge, clientIp: request.ip })
    if (wantsJson(request)) return sendJson(reply, { status, redirect_to: redirectTo })
    return sendPage(
      reply,
      movingOnPage({ to: redirectTo, ...loginRequest, outcome: 'denied' }, readerOf(reply, loginRequest.uiLocale)),
    )
  })
}
