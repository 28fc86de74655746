import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { loginPage } from '../../../pages/login/login-page.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import type { AuthService, MoveOn, WalletLogin } from '../auth-service.ts'
import { onDevelopmentHost } from '../development-host.ts'
import { postedOf } from '../posted.ts'
import { invalidRequest, Refusal } from '../refusal.ts'
import { sendJson, sendPage, wantsJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/** Accounts whose keys are public, and a function that signs with them: for development, under `grantor start` only. */
export type DevelopmentWallet = {
  accounts: { address: string; label: string }[]
  /** Whether any other address can sign in too, without proof: for developers without a wallet. */
  sign(address: string, message: string): Promise<string>
  /** Whether any other address can sign in too, without proof: for developers without a wallet. */
  takesAnyAddress?: boolean
}

type DevelopmentWalletOptions = { authService: AuthService; now: () => number; developmentWallet: DevelopmentWallet }

/**
 * `POST /login/development-wallet`: signs in as a development account.
 *
 * The server signs, never the page, and the signature passes the same text and check as any wallet's. An address whose
 * key is not known here is vouched for. Vouching is not a consent: an app that needs a signed consent refuses it.
 */
export function addDevelopmentWalletRoute(
  server: FastifyInstance,
  { authService, now, developmentWallet }: DevelopmentWalletOptions,
): void {
  const { accounts, takesAnyAddress } = developmentWallet
  onlyMethods(server, '/login/development-wallet', ['POST'])
  server.post('/login/development-wallet', { onRequest: onDevelopmentHost }, async (request, reply) => {
    const posted = postedOf(request)
    const { loginChallenge, scope, limit } = posted
    const wanted = posted.address?.toLowerCase()
    const account = accounts.find(({ address }) => address.toLowerCase() === wanted)
    if (!account && !(takesAnyAddress && posted.address)) throw invalidRequest('address is none of the development accounts.')

    const loginRequest = await authService.readChallenge(loginChallenge)
    const { address } = account ?? { address: posted.address ?? '' }
    const login = {
      loginChallenge,
      address,
      chainId: posted.chainId ?? loginRequest.chainIds[0],
      scope,
      limit,
      clientIp: request.ip,
    }
    const outcome = account ? await sign(login) : await vouch(request, login)
    if (outcome === 'needs_signature') {
      const chosen = scope?.split(' ').filter(Boolean)
      const step = { loginChallenge, request: loginRequest, now: now(), developmentAccounts: accounts, chosen, limit }
      return sendPage(
        reply.status(403),
        loginPage(
          { ...step, refusedDevelopment: { address, problem: 'needs_signature' } },
          readerOf(reply, loginRequest.uiLocale),
        ),
      )
    }
    const { status, redirectTo } = outcome
    if (wantsJson(request)) return sendJson(reply, { status, redirect_to: redirectTo })
    return sendPage(
      reply,
      movingOnPage({ to: redirectTo, ...loginRequest, outcome: 'signed_in' }, readerOf(reply, loginRequest.uiLocale)),
    )
  })

  async function sign(login: WalletLogin): Promise<MoveOn> {
    const { message } = await authService.composeMessage(login)
    const signature = await developmentWallet.sign(login.address, message)
    return authService.accept({ ...login, signature })
  }

  /** A program receives the refusal unchanged; a user sees the form again, which explains what to do. */
  async function vouch(request: FastifyRequest, login: WalletLogin): Promise<MoveOn | 'needs_signature'> {
    try {
      return await authService.vouch(login)
    } catch (error) {
      if (error instanceof Refusal && error.error === 'consent_needs_signature' && !wantsJson(request)) return 'needs_signature'
      throw error
    }
  }
}
