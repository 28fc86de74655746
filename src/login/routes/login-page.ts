import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseForm, queryOf } from '../../oauth/form.ts'
import { type DevelopmentAccount, loginPage } from '../../pages/login-page.ts'
import type { AuthService } from '../auth-service.ts'
import { invalidRequest } from '../refusal.ts'
import { sendPage } from '../refusal-reply.ts'

type Needs = { authService: AuthService; now: () => number; developmentAccounts: readonly DevelopmentAccount[] | undefined }

/** `GET /login?login_challenge=C`: the login form. The other methods of this address are in submit.ts. */
export function addLoginPageRoute(server: FastifyInstance, { authService, now, developmentAccounts }: Needs): void {
  server.get('/login', async (request, reply) => {
    const loginChallenge = challengeOf(request)
    const login = { loginChallenge, request: await authService.readChallenge(loginChallenge), now: now(), developmentAccounts }
    return sendPage(reply, loginPage(login))
  })
}

function challengeOf(request: FastifyRequest): string {
  const values = parseForm(queryOf(request.raw.url ?? '')).get('login_challenge') ?? []
  const [value] = values
  if (values.length > 1 || !value?.text) throw invalidRequest('login_challenge is missing, or there twice.')
  return value.text
}
