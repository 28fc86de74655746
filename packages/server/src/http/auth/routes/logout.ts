/** `GET` and `POST /oauth/logout` (OpenID Connect RP-Initiated Logout §2), and the confirmation that some requests need. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { answerLogout, type LogoutOutcome, requestLogout } from '../../../domain/account/logout.ts'
import { signOutPage } from '../../../pages/account/sign-out-page.ts'
import { readerOf } from '../../../pages/languages.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import { noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { accountShown } from '../account-shown.ts'
import { formOf, formParameters } from '../form-body.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import { redirect, repeatAsGet } from '../redirect.ts'
import type { HttpService } from '../service.ts'
import { browserOf, clearSessionCookie } from '../session-cookie.ts'

const PATH = '/oauth/logout'
const ANSWER = '/oauth/logout/confirm'
const PAGE = { config: { answers: 'page' } } as const

export function logoutRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.get(PATH, { ...PAGE, onRequest: requireNavigation }, async (request, reply) => {
    void reply.headers(pageHeaders(reply))
    const outcome = await requestLogout(deps, parseForm(queryOf(request.url)), browserOf(service, request).sessionId)
    return answer(request.id, reply, outcome)
  })

  server.post(PATH, PAGE, async (request, reply) => {
    void reply.headers(pageHeaders(reply))
    return repeatAsGet(reply, PATH, formOf(request))
  })

  server.post(ANSWER, PAGE, async (request, reply) => {
    requireOwnOrigin(request, deps.settings.authUrl)
    void reply.headers(pageHeaders(reply))
    const { question, decision } = formParameters(request, ['question', 'decision'])
    const { sessionId } = browserOf(service, request)
    // Anything but an explicit yes means no.
    const outcome = await answerLogout(deps, question ?? '', sessionId, decision === 'sign_out' ? 'sign_out' : 'stay')
    switch (outcome.kind) {
      case 'signed_out':
        clearSessionCookie(service, reply)
        if (outcome.to === null || outcome.app === null)
          return reply.send(noticePage({ kind: 'signed_out', retryUrl: '/account' }, readerOf(reply)))
        // If a form leads to another origin, the response is a page that continues by itself.
        return reply.send(movingOnPage({ to: outcome.to, ...outcome.app, outcome: 'signed_out' }, readerOf(reply)))
      case 'stayed':
        return reply.send(noticePage({ kind: 'still_signed_in', retryUrl: '/account' }, readerOf(reply)))
      case 'broken':
        return reply.code(400).send(noticePage({ kind: 'broken_link' }, readerOf(reply)))
      case 'expired':
        return reply.code(410).send(noticePage({ kind: 'sign_out_again', retryUrl: '/account' }, readerOf(reply)))
    }
  })

  async function answer(requestId: string, reply: FastifyReply, outcome: LogoutOutcome): Promise<FastifyReply> {
    switch (outcome.kind) {
      case 'refused': {
        const { fault, reason } = outcome
        deps.audit({ event: 'logout_refused', reason, request_id: requestId })
        return reply.code(400).send(noticePage({ kind: fault, reason, requestId }, readerOf(reply)))
      }
      case 'ask': {
        const { question, app, session } = outcome
        return reply.send(
          signOutPage({ action: ANSWER, question, ...app, ...(await accountShown(deps, session)) }, readerOf(reply)),
        )
      }
      case 'signed_out':
        clearSessionCookie(service, reply)
        return outcome.to === null
          ? reply.send(noticePage({ kind: 'signed_out', retryUrl: '/account' }, readerOf(reply)))
          : redirect(reply, outcome.to)
    }
  }
}
