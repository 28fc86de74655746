/** `GET /login/resume`: continues on another device a login that began on this one, by its link or QR code. */
import type { FastifyInstance } from 'fastify'
import { resumeLogin } from '../../../domain/login/resume-login.ts'
import { readerOf } from '../../../pages/languages.ts'
import { noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { takeParameters } from '../../../protocol/oauth/parameters.ts'
import { requireNavigation } from '../navigation.ts'
import { redirect } from '../redirect.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setBrowserCookie } from '../session-cookie.ts'

export function loginResumeRoute(server: FastifyInstance, service: HttpService): void {
  server.get('/login/resume', { config: { answers: 'page' }, onRequest: requireNavigation }, async (request, reply) => {
    const { values } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge'])
    const outcome = await resumeLogin(service.deps, values.login_challenge, browserOf(service, request).browserKey)
    void reply.headers(pageHeaders(reply))
    const reference = { reason: `resume_${outcome.kind}`, requestId: request.id }
    if (outcome.kind === 'broken') return reply.code(400).send(noticePage({ kind: 'broken_link', ...reference }, readerOf(reply)))
    if (outcome.kind === 'expired') return reply.code(410).send(noticePage({ kind: 'expired', ...reference }, readerOf(reply)))
    setBrowserCookie(service, reply, outcome.browserKey)
    return redirect(reply, outcome.to)
  })
}
