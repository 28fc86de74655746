/**
 * `/approve/{approval_id}`: the page on which a user sees one action that an API asks for, and signs or declines. Each person with the link sees the page and can
 * decline. Only the wallet of the grant can sign.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ApprovalFault, answerApproval, type OpenApproval, openApproval } from '../../../domain/approvals/answer.ts'
import { loginPageUrl } from '../../../domain/authorization/authorize.ts'
import { newBrowserKey, sealChallenge } from '../../../domain/authorization/challenge.ts'
import { describeScopes } from '../../../domain/resources/describe-scopes.ts'
import { approvalPage } from '../../../pages/approval/approval-page.ts'
import { readerOf } from '../../../pages/languages.ts'
import { type NoticeKind, noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { shortAddress } from '../../../pages/words.ts'
import { clientPlace } from '../../../protocol/oauth/client-id-url.ts'
import { invalidRequest } from '../../../protocol/oauth/oauth-error.ts'
import { showUserCode } from '../../../protocol/oauth/user-code.ts'
import { apiHostOf } from '../../../protocol/wallet/approval-message.ts'
import { formParameters } from '../form-body.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setBrowserCookie } from '../session-cookie.ts'

type ById = { Params: { id: string } }

export function approveRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.get<ById>('/approve/:id', { config: { answers: 'page' }, onRequest: requireNavigation }, async (request, reply) => {
    void reply.headers(pageHeaders(reply))
    const found = await openApproval(deps, request.params.id)
    return typeof found === 'string'
      ? refuse(service, request, reply, found)
      : reply.send(describe(service, request, reply, found))
  })

  server.post<ById>('/approve/:id', { config: { answers: 'page' } }, async (request, reply) => {
    requireOwnOrigin(request, deps.settings.authUrl)
    void reply.headers(pageHeaders(reply))
    const { decision } = formParameters(request, ['decision'])
    const found = await openApproval(deps, request.params.id)
    if (typeof found === 'string') return refuse(service, request, reply, found)
    if (decision === 'sign') return toLogin(service, request, reply, found)
    // Anything but an explicit yes means no.
    const fault = await answerApproval(deps, found.request, { receiptId: null, isLast: decision === 'never' })
    // The page of an approval that was answered before says how.
    if (fault !== null) return reply.redirect(request.url, 303)
    return reply.send(noticePage({ kind: 'approval_declined' }, readerOf(reply)))
  })
}

function describe(
  { deps }: HttpService,
  request: FastifyRequest,
  reply: FastifyReply,
  { request: asked, apps: [app, ...actors], userCode }: OpenApproval,
): string {
  const { resource, scope, summary, wallet, expiresAt } = asked
  const [described] = describeScopes(deps, { scopes: [scope], resources: [resource], scopesByResource: null })
  return approvalPage(
    {
      action: request.url,
      clientName: app.name,
      ...clientPlace(app.id, ''),
      api: apiHostOf(resource),
      summary,
      userCode: showUserCode(userCode),
      scope: described ?? { name: scope, description: '' },
      actors: actors.map(({ id, name }) => ({ clientName: name, ...clientPlace(id, '') })),
      walletShort: shortAddress(wallet),
      expiresAt,
      now: deps.now(),
    },
    readerOf(reply),
  )
}

/** The login server is another origin, so a page leads there instead of a redirect (`form-action`). */
function toLogin(service: HttpService, request: FastifyRequest, reply: FastifyReply, found: OpenApproval): FastifyReply {
  const { deps } = service
  const browserKey = browserOf(service, request).browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind: 'approval', approval: found.request }, found.apps[0], { browserKey })
  if (challenge === null) throw invalidRequest('request_too_long', 'The request is too long.')
  setBrowserCookie(service, reply, browserKey)
  const clientHost = new URL(deps.settings.loginUrl).host
  return moveOn(reply, { to: loginPageUrl(deps, challenge), clientName: '', clientHost, purpose: 'approval', outcome: 'to_sign' })
}

const REFUSALS: Record<ApprovalFault, [status: number, notice: NoticeKind]> = {
  approval_unknown: [404, 'approval_unknown'],
  approval_signed: [409, 'approval_was_signed'],
  approval_used: [409, 'approval_was_signed'],
  approval_declined: [409, 'approval_was_declined'],
  approval_expired: [410, 'approval_expired'],
  approval_ended: [410, 'approval_ended'],
  approval_client_unknown: [403, 'unknown_client'],
}

function refuse({ deps }: HttpService, request: FastifyRequest, reply: FastifyReply, fault: ApprovalFault): FastifyReply {
  deps.audit({ event: 'approval_refused', reason: fault, request_id: request.id })
  const [status, kind] = REFUSALS[fault]
  return reply.code(status).send(noticePage({ kind, reason: fault, requestId: request.id }, readerOf(reply)))
}
