import type { FastifyInstance } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { developmentApprovalPage } from '../../../pages/login/development-page.ts'
import { loginPage } from '../../../pages/login/login-page.ts'
import type { AuthService } from '../auth-service.ts'
import { onDevelopmentHost } from '../development-host.ts'
import { postedOf } from '../posted.ts'
import { Refusal } from '../refusal.ts'
import { sendPage } from '../refusal-reply.ts'
import type { DevelopmentWallet } from './development-wallet.ts'
import { onlyMethods } from './only-methods.ts'

type DevelopmentLoginOptions = { authService: AuthService; now: () => number; developmentWallet: DevelopmentWallet }

/**
 * `POST /login/development`: the user entered an address; a page requests the approval. These are plain forms with stable ids, for
 * users and tools without a wallet. The approval is posted to `/login/development-wallet`, a refusal to `/login/deny`.
 */
export function addDevelopmentLoginRoute(
  server: FastifyInstance,
  { authService, now, developmentWallet }: DevelopmentLoginOptions,
): void {
  const { accounts } = developmentWallet
  onlyMethods(server, '/login/development', ['POST'])
  server.post('/login/development', { onRequest: onDevelopmentHost }, async (request, reply) => {
    const { loginChallenge, scope, limit, chainId, address: typed } = postedOf(request)
    const loginRequest = await authService.readChallenge(loginChallenge)
    const address = typed ?? accounts[0]?.address ?? ''
    const chosen = scope?.split(' ').filter(Boolean)
    const step = { loginChallenge, request: loginRequest, now: now(), chosen, limit }
    const login = { loginChallenge, address, chainId: chainId ?? loginRequest.chainIds[0], scope, limit, clientIp: request.ip }
    try {
      // Composed only for its checks: the address must be valid, and at least one scope must be left.
      await authService.composeMessage(login)
    } catch (error) {
      const problem = error instanceof Refusal ? problemOf(error) : null
      if (!(error instanceof Refusal) || problem === null) throw error
      return sendPage(
        reply.status(error.status),
        loginPage(
          { ...step, developmentAccounts: accounts, refusedDevelopment: { address, problem } },
          readerOf(reply, loginRequest.uiLocale),
        ),
      )
    }
    return sendPage(reply, developmentApprovalPage({ ...step, address }, readerOf(reply, loginRequest.uiLocale)))
  })
}

function problemOf({ status, error }: Refusal): 'wrong_address' | 'another_wallet' | 'limit_refused' | null {
  if (error === 'another_wallet' || error === 'limit_refused') return error
  return status === 400 ? 'wrong_address' : null
}
