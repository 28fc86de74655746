import type { FastifyInstance } from 'fastify'
import { readerOf } from '../../../pages/languages.ts'
import { type SignatureProblem, signByHandPage } from '../../../pages/login/sign-by-hand-page.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import type { AuthService, WalletLogin } from '../auth-service.ts'
import { type Posted, postedOf, requireAddress, requireSignature } from '../posted.ts'
import { Refusal } from '../refusal.ts'
import { sendJson, sendPage } from '../refusal-reply.ts'
import { onlyMethods } from './only-methods.ts'

type SubmitOptions = { authService: AuthService; now: () => number }

/** `POST /login`: the signature. JSON for the script; for a form, a page that continues by itself, or the same step again. */
export function addSubmitRoute(server: FastifyInstance, { authService, now }: SubmitOptions): void {
  onlyMethods(server, '/login', ['GET', 'POST'])
  server.post('/login', async (request, reply) => {
    const posted = postedOf(request)
    const address = requireAddress(posted)
    if (posted.from === 'json') {
      const login = { ...posted, address, signature: requireSignature(posted), clientIp: request.ip }
      const { status, redirectTo } = await authService.accept(login)
      return sendJson(reply, { status, redirect_to: redirectTo })
    }

    const { loginChallenge, scope, limit } = posted
    const loginRequest = await authService.readChallenge(loginChallenge)
    const chainId = posted.chainId ?? loginRequest.chainIds[0]
    const login = { loginChallenge, address, chainId, scope, limit, clientIp: request.ip }
    const outcome = await submit(posted, login)
    if (outcome.kind === 'signed_in') {
      return sendPage(
        reply,
        movingOnPage({ to: outcome.redirectTo, ...loginRequest, outcome: 'signed_in' }, readerOf(reply, loginRequest.uiLocale)),
      )
    }
    // The same text again, so that the user can sign it with the right account.
    const { message } = await authService.composeMessage(login)
    const { status, problem } = outcome
    const step = {
      loginChallenge,
      request: loginRequest,
      now: now(),
      address,
      chainId,
      chosen: scope?.split(' '),
      limit,
      message,
      problem,
    }
    if ('retryAfter' in problem && problem.retryAfter !== undefined) reply.header('retry-after', String(problem.retryAfter))
    return sendPage(reply.status(status), signByHandPage(step, readerOf(reply, loginRequest.uiLocale)))
  })

  async function submit(posted: Posted, login: WalletLogin): Promise<SubmitOutcome> {
    try {
      const { redirectTo } = await authService.accept({ ...login, signature: requireSignature(posted) })
      return { kind: 'signed_in', redirectTo }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { status, retryAfter } = error
      const { signature = '' } = posted
      if (status === 400) return refusedSubmit(status, { kind: 'wrong_signature' })
      if (status === 401) return refusedSubmit(status, { kind: 'not_proven' })
      if (status === 429) return refusedSubmit(status, { kind: 'too_many', signature, retryAfter })
      if (status === 503) return refusedSubmit(status, { kind: 'could_not_check', signature, retryAfter })
      throw error
    }
  }
}

type SubmitOutcome = { kind: 'signed_in'; redirectTo: string } | { kind: 'refused'; status: number; problem: SignatureProblem }

function refusedSubmit(status: number, problem: SignatureProblem): SubmitOutcome {
  return { kind: 'refused', status, problem }
}
