import type { FastifyInstance } from 'fastify'
import { type DevelopmentAccount, loginPage } from '../../pages/login-page.ts'
import type { AuthService } from '../auth-service.ts'
import { isOfDevelopmentHost } from '../development-host.ts'
import { challengeOf } from '../posted.ts'
import { sendPage } from '../refusal-reply.ts'

type Needs = { authService: AuthService; now: () => number; developmentAccounts: readonly DevelopmentAccount[] | undefined }

/** `GET /login?login_challenge=C`: the login form. The other methods of this path are in submit.ts. */
export function addLoginPageRoute(server: FastifyInstance, { authService, now, developmentAccounts }: Needs): void {
  server.get('/login', async (request, reply) => {
    const loginChallenge = challengeOf(request)
    const login = { loginChallenge, request: await authService.readChallenge(loginChallenge), now: now() }
    const offered = isOfDevelopmentHost(request.headers.host) ? developmentAccounts : undefined
    return sendPage(reply, loginPage({ ...login, developmentAccounts: offered }))
  })
}
