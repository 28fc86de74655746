/** `GET /login/complete`: the browser returns from the login server, receives its session, and continues. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type CompleteOutcome, completeLogin } from '../../domain/login/complete-login.ts'
import { parseForm, queryOf } from '../../oauth/form.ts'
import { takeParameters } from '../../oauth/parameters.ts'
import { type NoticeKind, noticePage } from '../../pages/notice-page.ts'
import { pageHeaders } from '../../pages/page-headers.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import type { Service } from '../service.ts'
import { browserOf, setSessionCookie } from '../session-cookie.ts'

export function loginCompleteRoute(server: FastifyInstance, service: Service): void {
  server.get('/login/complete', { config: { answers: 'page' }, onRequest: requireNavigation }, async (request, reply) => {
    const { values } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge', 'login_verifier'])
    const { browserKey, sessionId } = browserOf(service, request)
    const outcome = await completeLogin(service.deps, {
      challenge: values.login_challenge,
      verifier: values.login_verifier,
      browserKey,
      sessionId,
    })
    // 200 with a page, not a redirect: in-app browsers of wallets lose cookies that a redirect sets.
    void reply.headers(pageHeaders())
    if ('sessionId' in outcome) setSessionCookie(service, reply, outcome.sessionId)
    return answer(service, request.id, reply, outcome)
  })
}

function answer(service: Service, requestId: string, reply: FastifyReply, outcome: CompleteOutcome): FastifyReply {
  const accountHost = { clientName: '', clientHost: new URL(service.deps.settings.authUrl).host }
  switch (outcome.kind) {
    case 'signed_in':
    case 'denied':
      return moveOn(reply, {
        to: outcome.to,
        ...(outcome.app ?? accountHost),
        purpose: outcome.app ? 'app' : 'account',
        outcome: outcome.kind,
      })
    case 'another_wallet':
      return moveOn(reply, { to: outcome.to, ...outcome.app, outcome: 'failed' })
    case 'signed_in_elsewhere': {
      // The user can continue on the site of a web app. A native app runs on the other device.
      const retryUrl = /^https?:/i.test(outcome.redirectUri) ? new URL(outcome.redirectUri).origin : undefined
      return reply.send(noticePage({ kind: 'continue_on_app', ...outcome.app, retryUrl }))
    }
    case 'cancelled':
      return reply.send(noticePage({ kind: 'cancelled', retryUrl: '/account' }))
    case 'denied_elsewhere':
      return reply.send(noticePage({ kind: 'declined_elsewhere', ...outcome.app }))
    case 'device_allowed':
      return reply.send(noticePage({ kind: 'device_allowed', ...outcome.app, retryUrl: '/account' }))
    case 'device_denied':
      return reply.send(noticePage({ kind: 'device_denied' }))
    case 'ending_under_way':
      return reply.redirect(`${service.deps.settings.authUrl}/account/ending?job=${outcome.name}`, 303)
    case 'everything_ended':
      return reply.send(noticePage({ kind: 'everything_ended' }))
    default: {
      const [status, kind] = REFUSALS[outcome.kind]
      const reason = `complete_${outcome.kind}` as const
      service.deps.audit({ event: 'login_refused', reason, request_id: requestId })
      return reply.code(status).send(noticePage({ kind, reason, requestId }))
    }
  }
}

const REFUSALS: Record<
  | 'broken'
  | 'wrong_browser'
  | 'expired'
  | 'already_used'
  | 'request_spent'
  | 'continued_elsewhere'
  | 'ended'
  | 'unknown_client'
  | 'device_answered',
  [status: number, notice: NoticeKind]
> = {
  broken: [400, 'broken_link'],
  wrong_browser: [403, 'wrong_browser'],
  expired: [410, 'expired'],
  already_used: [409, 'already_used'],
  request_spent: [409, 'already_used'],
  continued_elsewhere: [409, 'continued_elsewhere'],
  ended: [401, 'login_required_again'],
  unknown_client: [403, 'unknown_client'],
  device_answered: [409, 'device_answered'],
}
