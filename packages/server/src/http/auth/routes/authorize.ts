/** `GET /oauth/authorize` (RFC 6749 §3.1), and the confirmation that some requests need. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AuthorizeOutcome, authorize } from '../../../domain/authorization/authorize.ts'
import { type ConfirmOutcome, confirm } from '../../../domain/authorization/confirm.ts'
import { describeScopes } from '../../../domain/resources/describe-scopes.ts'
import { networkOf } from '../../../observability/log/network.ts'
import { readerOf } from '../../../pages/languages.ts'
import { confirmPage } from '../../../pages/login/confirm-page.ts'
import { type NoticeKind, noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { redirectUriPlace } from '../../../protocol/oauth/redirect-uri.ts'
import { accountShown } from '../account-shown.ts'
import { formOf, formParameters } from '../form-body.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import { redirect, repeatAsGet } from '../redirect.ts'
import { refusalPage } from '../refusal-page.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setBrowserCookie } from '../session-cookie.ts'

const CONFIRM = '/oauth/authorize/confirm'
const TEXT = 'text/plain; charset=utf-8'

export function authorizeRoutes(server: FastifyInstance, service: HttpService): void {
  server.get('/oauth/authorize', { config: { answers: 'page' }, onRequest: requireNavigation }, async (request, reply) => {
    const outcome = await authorize(service.deps, parseForm(queryOf(request.url)), browserOf(service, request))
    return answer(service, request, reply, outcome)
  })

  // OpenID Connect Core §3.1.2.1: "MUST support the use of the HTTP GET and POST methods".
  server.post('/oauth/authorize', { config: { answers: 'page' } }, async (request, reply) => {
    void reply.headers(pageHeaders(reply))
    return repeatAsGet(reply, '/oauth/authorize', formOf(request))
  })

  server.post(CONFIRM, { config: { answers: 'page' } }, async (request, reply) => {
    requireOwnOrigin(request, service.deps.settings.authUrl)
    const { confirmation, decision } = formParameters(request, ['confirmation', 'decision'])
    // Anything but an explicit yes means no.
    const outcome = await confirm(
      service.deps,
      confirmation ?? '',
      browserOf(service, request),
      decision === 'allow' ? 'allow' : 'deny',
    )
    return answerConfirmed(service, request.id, reply, outcome)
  })
}

async function answer(
  service: HttpService,
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: AuthorizeOutcome,
): Promise<FastifyReply> {
  void reply.headers(pageHeaders(reply))
  switch (outcome.kind) {
    case 'page':
      return refuse(service, request, reply, outcome)
    case 'redirect': {
      const { to } = outcome
      if (typeof to === 'string') return redirect(reply, to)
      return moveOn(reply, { to, clientName: '', ...redirectUriPlace(to.action), outcome: 'answered' })
    }
    case 'login':
      setBrowserCookie(service, reply, outcome.browserKey)
      return redirect(reply, outcome.to)
    case 'over_limit':
      return refuseCode(service, request.id, reply, outcome.retryAfter)
    case 'unavailable':
      throw outcome.error
    case 'confirm': {
      const { confirmation, app, session } = outcome
      const scopes = describeScopes(service.deps, outcome.request)
      const account = await accountShown(service.deps, session)
      return reply.send(confirmPage({ action: CONFIRM, confirmation, ...app, scopes, ...account }, readerOf(reply, app.uiLocale)))
    }
  }
}

/**
 * A page that names the fault. Beyond the limit of failures, a network gets one line of text. A correct request is not counted, and is answered as before.
 */
function refuse(
  service: HttpService,
  { id: requestId, ip }: FastifyRequest,
  reply: FastifyReply,
  { fault, reason, document }: Extract<AuthorizeOutcome, { kind: 'page' }>,
): FastifyReply {
  const { deps, limits } = service
  const refused = document && { client_id: document.clientId, details: { cause: document.cause } }
  deps.audit({ event: 'authorize_refused', reason, request_id: requestId, ...refused })
  const verdict = limits.count('failures', `${networkOf(ip)} authorize`)
  if (verdict.allowed) return reply.code(400).send(refusalPage(service, { kind: fault, reason, requestId }, readerOf(reply)))
  const wait = String(verdict.retryAfter)
  return reply
    .code(429)
    .headers({ 'content-type': TEXT, 'retry-after': wait })
    .send('Too many failed requests. Wait and try again.\n')
}

/** RFC 6585 §4 */
function refuseCode(service: HttpService, requestId: string, reply: FastifyReply, retryAfter: number): FastifyReply {
  service.deps.audit({ event: 'authorize_refused', reason: 'code_limit', request_id: requestId })
  const page = refusalPage(service, { kind: 'too_many_codes', retryAfter, reason: 'code_limit', requestId }, readerOf(reply))
  return reply.code(429).header('retry-after', String(retryAfter)).send(page)
}

/**
 * If a form leads to another origin, the response is a page that continues by itself: browsers apply `form-action` to
 * redirects.
 */
function answerConfirmed(service: HttpService, requestId: string, reply: FastifyReply, outcome: ConfirmOutcome): FastifyReply {
  void reply.headers(pageHeaders(reply))
  if (outcome.kind === 'over_limit') return refuseCode(service, requestId, reply, outcome.retryAfter)
  if ('to' in outcome) return moveOn(reply, { to: outcome.to, ...outcome.app, outcome: outcome.kind })
  const notices: Record<typeof outcome.kind, [status: number, NoticeKind]> = {
    broken: [400, 'broken_link'],
    expired: [410, 'expired'],
    no_session: [401, 'login_required_again'],
    unknown_client: [403, 'unknown_client'],
    already_used: [409, 'already_used'],
  }
  const [status, kind] = notices[outcome.kind]
  return reply.code(status).send(noticePage({ kind, reason: outcome.kind, requestId }, readerOf(reply)))
}
