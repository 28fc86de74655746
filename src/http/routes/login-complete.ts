/** `GET /login/complete`: the browser comes back from the login server, gets its session, and goes on to the app. */
import type { FastifyInstance } from 'fastify'
import { completeLogin } from '../../grants/complete-login.ts'
import { parseForm, queryOf } from '../../oauth/form.ts'
import { takeParameters } from '../../oauth/parameters.ts'
import { movingOnPage } from '../../pages/moving-on-page.ts'
import { type NoticeKind, noticePage } from '../../pages/notice-page.ts'
import { pageHeaders } from '../../pages/page-headers.ts'
import type { Service } from '../service.ts'
import { browserOf, setSessionCookie } from '../session-cookie.ts'

export function loginCompleteRoute(server: FastifyInstance, service: Service): void {
  server.get('/login/complete', { config: { answers: 'page' } }, async (request, reply) => {
    const { values } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge', 'login_verifier'])
    const outcome = await completeLogin(service.deps, {
      challenge: values.login_challenge,
      verifier: values.login_verifier,
      browserKey: browserOf(service, request).browserKey,
    })
    // 200 with a page, not a redirect: wallets' in-app browsers lose cookies that are set on one.
    void reply.headers(pageHeaders())
    if (outcome.kind === 'signed_in') setSessionCookie(service, reply, outcome.sessionId)
    if ('to' in outcome) return reply.send(movingOnPage({ to: outcome.to, ...outcome.app, outcome: outcome.kind }))

    const notices: Record<typeof outcome.kind, [status: number, NoticeKind]> = {
      broken: [400, 'broken_link'],
      wrong_browser: [403, 'wrong_browser'],
      expired: [410, 'expired'],
      used: [409, 'already_used'],
      ended: [401, 'login_required_again'],
      unknown_client: [403, 'unknown_client'],
    }
    const [status, kind] = notices[outcome.kind]
    service.deps.audit({ event: 'login_refused', reason: `complete_${outcome.kind}` })
    return reply.code(status).send(noticePage({ kind }))
  })
}
