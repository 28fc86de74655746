import type { FastifyInstance } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { type DevelopmentAccount, loginPage } from '../../../pages/login/login-page.ts'
import { signByHandPage } from '../../../pages/login/sign-by-hand-page.ts'
import { translateSignedText } from '../../../pages/signed-text.ts'
import type { AuthService, WalletLogin } from '../auth-service.ts'
import { isOfDevelopmentHost } from '../development-host.ts'
import { postedOf, requireAddress } from '../posted.ts'
import { Refusal } from '../refusal.ts'
import { sendJson, sendPage } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

type MessageOptions = {
  authService: AuthService
  now: () => number
  developmentAccounts: readonly DevelopmentAccount[] | undefined
}

/** `POST /login/message`: the text that this account signs, as JSON for the script or as a page for a form. */
export function addMessageRoute(server: FastifyInstance, { authService, now, developmentAccounts }: MessageOptions): void {
  onlyMethods(server, '/login/message', ['POST'])
  server.post('/login/message', async (request, reply) => {
    const posted = postedOf(request)
    if (posted.from === 'json') {
      const { message } = await authService.composeMessage({ ...posted, address: requireAddress(posted), clientIp: request.ip })
      return sendJson(reply, { message, translation: translateSignedText(message, readerOf(reply)) })
    }

    const { loginChallenge, address = '', scope, limit } = posted
    const loginRequest = await authService.readChallenge(loginChallenge)
    const chainId = posted.chainId ?? loginRequest.chainIds[0]
    const step = {
      loginChallenge,
      request: loginRequest,
      now: now(),
      address,
      chainId,
      chosen: scope?.split(' ').filter(Boolean),
      limit,
    }
    const text = await textFor({ loginChallenge, address, chainId, scope, limit, clientIp: request.ip })
    if ('message' in text) return sendPage(reply, signByHandPage({ ...step, ...text }, readerOf(reply, loginRequest.uiLocale)))
    const offered = isOfDevelopmentHost(request.headers.host) ? developmentAccounts : undefined
    return sendPage(
      reply.status(text.status),
      loginPage(
        { ...step, developmentAccounts: offered, refusedAddress: address, refusal: text.refusal },
        readerOf(reply, loginRequest.uiLocale),
      ),
    )
  })

  /**
   * A refusal if the address is invalid, no scope was left, a number of the limit cannot be signed, or another wallet must sign. The challenge was
   * read just before, so any other 400 means one of the first two.
   */
  async function textFor(
    login: WalletLogin,
  ): Promise<{ message: string } | { status: number; refusal?: 'another_wallet' | 'limit_refused' }> {
    try {
      if (login.address === '') return { status: 400 }
      const { message } = await authService.composeMessage(login)
      return { message }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { status } = error
      if (error.error === 'another_wallet' || error.error === 'limit_refused') return { status, refusal: error.error }
      if (status === 400) return { status }
      throw error
    }
  }
}
