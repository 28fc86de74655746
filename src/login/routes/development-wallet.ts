import type { FastifyInstance } from 'fastify'
import { movingOnPage } from '../../pages/moving-on-page.ts'
import type { AuthService } from '../auth-service.ts'
import { postedOf } from '../posted.ts'
import { invalidRequest } from '../refusal.ts'
import { sendJson, sendPage, wantsJson } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

/** Accounts whose keys are public, and a signer for them: for trying things out, under `grantor start` only. */
export type DevelopmentWallet = {
  accounts: { address: string; label: string }[]
  /** `personal_sign` (ERC-191) of the text by that account. */
  sign(address: string, message: string): Promise<string>
}

/**
 * `POST /login/development-wallet`: signs in as a development account.
 *
 * The server signs and never the page, and what it signs goes through the very same text and check as any wallet's.
 */
export function addDevelopmentWalletRoute(
  server: FastifyInstance,
  { authService, developmentWallet }: { authService: AuthService; developmentWallet: DevelopmentWallet },
): void {
  onlyMethods(server, '/login/development-wallet', ['POST'])
  server.post('/login/development-wallet', async (request, reply) => {
    const posted = postedOf(request)
    const { loginChallenge, scope } = posted
    const wanted = posted.address?.toLowerCase()
    const account = developmentWallet.accounts.find(({ address }) => address.toLowerCase() === wanted)
    if (!account) throw invalidRequest('address is none of the development accounts.')

    const asked = await authService.readChallenge(loginChallenge)
    const { address } = account
    const login = { loginChallenge, address, chainId: posted.chainId ?? asked.chainIds[0], scope, clientIp: request.ip }
    const { message } = await authService.composeMessage(login)
    const signature = await developmentWallet.sign(address, message)
    const { status, redirectTo } = await authService.accept({ ...login, signature })
    if (wantsJson(request)) return sendJson(reply, { status, redirect_to: redirectTo })
    return sendPage(reply, movingOnPage({ to: redirectTo, ...asked, outcome: 'signed_in' }))
  })
}
