/** `GET /login/complete` and `/login/cross-device/complete`: the browser returns from the login server, receives its session, and continues. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type CompleteOutcome, completeCrossDeviceLogin, completeLogin } from '../../../domain/login/complete-login.ts'
import { readerOf } from '../../../pages/languages.ts'
import { type NoticeKind, noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { takeParameters } from '../../../protocol/oauth/parameters.ts'
import { browserNameOf } from '../browser-name.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setSessionCookie } from '../session-cookie.ts'

export function loginCompleteRoute(server: FastifyInstance, service: HttpService): void {
  const route = { config: { answers: 'page' }, onRequest: requireNavigation } as const
  server.get('/login/complete', route, async (request, reply) => {
    const { values } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge', 'login_verifier'])
    const { login_challenge: challenge, login_verifier: verifier } = values
    return answer(
      service,
      request,
      reply,
      await completeLogin(service.deps, { challenge, verifier, ...senderOf(service, request) }),
    )
  })
  server.get('/login/cross-device/complete', route, async (request, reply) => {
    const { values } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge'])
    const challenge = values.login_challenge
    const outcome = await completeCrossDeviceLogin(service.deps, { challenge, ...senderOf(service, request) })
    return answer(service, request, reply, outcome)
  })
}

function senderOf(service: HttpService, request: FastifyRequest) {
  const { browserKey, sessionId } = browserOf(service, request)
  return { browserKey, sessionId, browser: browserNameOf(request.headers) }
}

/** 200 with a page, not a redirect: in-app browsers of wallets lose cookies that a redirect sets. */
function answer(service: HttpService, request: FastifyRequest, reply: FastifyReply, outcome: CompleteOutcome): FastifyReply {
  void reply.headers(pageHeaders(reply))
  if ('sessionId' in outcome) setSessionCookie(service, reply, outcome.sessionId)
  return pageFor(service, request, reply, outcome)
}

function pageFor(service: HttpService, request: FastifyRequest, reply: FastifyReply, outcome: CompleteOutcome): FastifyReply {
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
    case 'refused_by_hook':
      return moveOn(reply, { to: outcome.to, ...outcome.app, outcome: 'failed' })
    case 'signed_in_elsewhere': {
      // The user can continue on the site of a web app. A native app runs on the other device.
      const retryUrl = /^https?:/i.test(outcome.redirectUri) ? new URL(outcome.redirectUri).origin : undefined
      return reply.send(noticePage({ kind: 'continue_on_app', ...outcome.app, retryUrl }, readerOf(reply)))
    }
    case 'cancelled':
      return reply.send(noticePage({ kind: 'cancelled', retryUrl: '/account' }, readerOf(reply)))
    case 'denied_elsewhere':
      return reply.send(noticePage({ kind: 'declined_elsewhere', ...outcome.app }, readerOf(reply)))
    case 'device_allowed':
      return reply.send(noticePage({ kind: 'device_allowed', ...outcome.app, retryUrl: '/account' }, readerOf(reply)))
    case 'signed_for_browser':
      return reply.send(noticePage({ kind: 'signed_for_browser', ...outcome.app }, readerOf(reply)))
    case 'device_denied':
      return reply.send(noticePage({ kind: 'device_denied' }, readerOf(reply)))
    case 'ending_under_way':
      return reply.redirect(`${service.deps.settings.authUrl}/account/ending?job=${outcome.name}`, 303)
    case 'approval_signed':
      return reply.send(noticePage({ kind: 'approval_signed', ...outcome.app, retryUrl: '/account' }, readerOf(reply)))
    case 'approval_declined':
      return reply.send(noticePage({ kind: 'approval_declined' }, readerOf(reply)))
    case 'everything_ended':
      return reply.send(noticePage({ kind: 'everything_ended' }, readerOf(reply)))
    default: {
      const [status, kind] = REFUSALS[outcome.kind]
      const reason = `complete_${outcome.kind}` as const
      service.deps.audit({ event: 'login_refused', reason, request_id: request.id })
      return reply
        .code(status)
        .send(
          noticePage(
            { kind, reason, requestId: request.id, ...(kind === 'not_signed_yet' ? { retryUrl: request.url } : {}) },
            readerOf(reply),
          ),
        )
    }
  }
}

const REFUSALS: Record<
  | 'broken'
  | 'wrong_browser'
  | 'expired'
  | 'cross_device_off'
  | 'already_used'
  | 'request_spent'
  | 'continued_elsewhere'
  | 'signed_on_other_device'
  | 'not_signed_yet'
  | 'ended'
  | 'unknown_client'
  | 'device_answered'
  | 'device_refused_by_hook'
  | 'approval_answered'
  | 'approval_too_late',
  [status: number, notice: NoticeKind]
> = {
  broken: [400, 'broken_link'],
  wrong_browser: [403, 'wrong_browser'],
  expired: [410, 'expired'],
  cross_device_off: [403, 'cross_device_off'],
  already_used: [409, 'already_used'],
  request_spent: [409, 'already_used'],
  continued_elsewhere: [409, 'continued_elsewhere'],
  signed_on_other_device: [409, 'signed_on_other_device'],
  not_signed_yet: [409, 'not_signed_yet'],
  ended: [401, 'login_required_again'],
  unknown_client: [403, 'unknown_client'],
  device_answered: [409, 'device_answered'],
  device_refused_by_hook: [403, 'device_not_allowed'],
  approval_answered: [409, 'approval_answered'],
  approval_too_late: [410, 'approval_expired'],
}
