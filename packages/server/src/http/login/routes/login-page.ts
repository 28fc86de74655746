import type { FastifyInstance } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { type DevelopmentAccount, loginPage } from '../../../pages/login/login-page.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import type { AuthService } from '../auth-service.ts'
import { isOfDevelopmentHost } from '../development-host.ts'
import { challengeOf } from '../posted.ts'
import { sendPage } from '../refusal-reply.ts'
import type { OfferedWalletConnect } from './walletconnect.ts'

type LoginPageOptions = {
  authService: AuthService
  now: () => number
  walletWindow: string | undefined
  walletConnect: OfferedWalletConnect | undefined
  developmentAccounts: readonly DevelopmentAccount[] | undefined
}

/** `GET /login?login_challenge=C`: the login form. The other methods of this path are in submit.ts. */
export function addLoginPageRoute(server: FastifyInstance, needs: LoginPageOptions): void {
  const { authService, now, walletWindow, walletConnect, developmentAccounts } = needs
  server.get('/login', async (request, reply) => {
    const loginChallenge = challengeOf(request)
    const login = { loginChallenge, request: await authService.readChallenge(loginChallenge), now: now() }
    const { crossDevice } = login.request
    if (crossDevice?.signed)
      return sendPage(
        reply,
        movingOnPage(
          { ...login.request, to: crossDevice.continueUrl, outcome: 'signed_in' },
          readerOf(reply, login.request.uiLocale),
        ),
      )
    const offered = isOfDevelopmentHost(request.headers.host) ? developmentAccounts : undefined
    return sendPage(
      reply,
      loginPage({ ...login, walletWindow, walletConnect, developmentAccounts: offered }, readerOf(reply, login.request.uiLocale)),
      walletConnect?.policy,
    )
  })
}
