/**
 * `/device` (RFC 8628 §3.3): the user enters the code of a device, or arrives with the code in the URL, compares it, and goes on to sign. The letters of
 * an approval lead to its page.
 *
 * The page shows the client, its request, and the kind of place of the device, because an attacker may have sent the code (§5.4). So a login
 * for a device begins only with a form of this page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { approvalUrl } from '../../../domain/approvals/state.ts'
import { loginPageUrl } from '../../../domain/authorization/authorize.ts'
import { newBrowserKey, sealChallenge } from '../../../domain/authorization/challenge.ts'
import { denyDevice } from '../../../domain/authorization/device-answer.ts'
import {
  type DeviceFault,
  findByUserCode,
  type OpenDeviceRequest,
  openDeviceRequest,
} from '../../../domain/authorization/device-authorization.ts'
import type { ApprovalKey } from '../../../domain/model/approval-store.ts'
import { describeScopes } from '../../../domain/resources/describe-scopes.ts'
import { networkOf } from '../../../observability/log/network.ts'
import { deviceCodePage, deviceRequestPage } from '../../../pages/device/device-page.ts'
import { readerOf } from '../../../pages/languages.ts'
import { type NoticeKind, noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { clientPlace } from '../../../protocol/oauth/client-id-url.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { invalidRequest } from '../../../protocol/oauth/oauth-error.ts'
import { takeParameters } from '../../../protocol/oauth/parameters.ts'
import { readUserCode, showUserCode } from '../../../protocol/oauth/user-code.ts'
import { createInTurn } from '../../in-turn.ts'
import { formParameters } from '../form-body.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import { otherNetworkThan } from '../place.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setBrowserCookie } from '../session-cookie.ts'

const PATH = '/device'

export function deviceRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service
  const look = createLookUp(service)

  server.get(PATH, { config: { answers: 'page' }, onRequest: requireNavigation }, async (request, reply) => {
    void reply.headers(pageHeaders(reply))
    const { user_code: entry } = takeParameters(parseForm(queryOf(request.url)), ['user_code']).values
    if (entry === null) return reply.send(deviceCodePage({ action: PATH }, readerOf(reply)))
    const found = await look(request, entry)
    if (found === 'user_code_wrong') return refuseCode(service, request, reply, entry)
    if (typeof found !== 'string' && 'approval' in found) return reply.redirect(approvalUrl(deps.settings, found.approval), 303)
    if (typeof found === 'string') return refuse(service, request, reply, found)
    if ('retryAfter' in found) return refuseForNow(service, request, reply, { entry, ...found })
    return reply.send(describe(service, reply, found))
  })

  server.post(PATH, { config: { answers: 'page' } }, async (request, reply) => {
    requireOwnOrigin(request, deps.settings.authUrl)
    void reply.headers(pageHeaders(reply))
    const { request: sealed, decision } = formParameters(request, ['request', 'decision'])
    const found = await openDeviceRequest(deps, sealed ?? '')
    if (typeof found === 'string') return refuse(service, request, reply, found)
    // Anything but an explicit yes means no.
    if (decision === 'allow') return toLogin(service, request, reply, found)
    if (!(await denyDevice(deps, found.request))) return refuse(service, request, reply, 'user_code_answered')
    return reply.send(noticePage({ kind: 'device_denied' }, readerOf(reply)))
  })
}

/**
 * Looks up a user code. §5.1: wrong codes are counted by network, and above the limit no code is looked up, so that no guess can succeed.
 * An entry that cannot be a code is no guess.
 */
function createLookUp({ deps, limits }: HttpService) {
  const inTurn = createInTurn()
  return async (
    request: FastifyRequest,
    entry: string,
  ): Promise<OpenDeviceRequest | { approval: ApprovalKey } | DeviceFault | 'user_code_wrong' | { retryAfter: number }> => {
    const userCode = readUserCode(entry)
    if (userCode === null) return 'user_code_wrong'
    const network = networkOf(request.ip)
    return inTurn(network, async () => {
      const verdict = limits.check('user_codes', network)
      if (!verdict.allowed) return verdict
      const found = await findByUserCode(deps, entry)
      if (found !== 'user_code_wrong') return found
      const approval = await deps.store.approvals.findByUserCode(userCode, deps.now())
      if (approval) return { approval }
      limits.count('user_codes', network)
      return found
    })
  }
}

function describe({ deps }: HttpService, reply: FastifyReply, { request: device, client, sealed }: OpenDeviceRequest): string {
  const { place } = device
  return deviceRequestPage(
    {
      action: PATH,
      sealed,
      userCode: showUserCode(device.userCode),
      clientName: client.name,
      ...clientPlace(client.id, ''),
      scopes: describeScopes(deps, { ...device, scopesByResource: null }),
      resources: device.resources,
      otherNetwork: otherNetworkThan(reply.request, place),
      program: place.program,
    },
    readerOf(reply),
  )
}

/** The login server is another origin, so a page leads there instead of a redirect (`form-action`). */
function toLogin(service: HttpService, request: FastifyRequest, reply: FastifyReply, found: OpenDeviceRequest): FastifyReply {
  const { deps } = service
  const browserKey = browserOf(service, request).browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind: 'device', request: found.request }, found.client, { browserKey })
  if (challenge === null) throw invalidRequest('request_too_long', 'The request is too long.')
  setBrowserCookie(service, reply, browserKey)
  const clientHost = new URL(deps.settings.loginUrl).host
  return moveOn(reply, { to: loginPageUrl(deps, challenge), clientName: '', clientHost, purpose: 'device', outcome: 'to_sign' })
}

const REFUSALS: Record<DeviceFault, [status: number, notice: NoticeKind]> = {
  user_code_answered: [409, 'device_answered'],
  device_request_broken: [400, 'broken_link'],
  device_request_expired: [410, 'device_expired'],
  device_client_unknown: [403, 'unknown_client'],
}

function refuseCode({ deps }: HttpService, request: FastifyRequest, reply: FastifyReply, wrongCode: string): FastifyReply {
  deps.audit({ event: 'device_refused', reason: 'user_code_wrong', request_id: request.id })
  return reply.code(400).send(deviceCodePage({ action: PATH, wrongCode }, readerOf(reply)))
}

function refuse({ deps }: HttpService, request: FastifyRequest, reply: FastifyReply, fault: DeviceFault): FastifyReply {
  deps.audit({ event: 'device_refused', reason: fault, request_id: request.id })
  const [status, kind] = REFUSALS[fault]
  return reply.code(status).send(noticePage({ kind, reason: fault, requestId: request.id }, readerOf(reply)))
}

/** The next attempt has the same code, which may be right. */
function refuseForNow(
  { deps }: HttpService,
  request: FastifyRequest,
  reply: FastifyReply,
  { entry, retryAfter }: { entry: string; retryAfter: number },
): FastifyReply {
  deps.audit({ event: 'device_refused', reason: 'user_code_limit', request_id: request.id })
  const retryUrl = `${PATH}?user_code=${encodeURIComponent(entry)}`
  const notice = { kind: 'too_many_failures', retryAfter, retryUrl, requestId: request.id } as const
  return reply
    .code(429)
    .header('retry-after', String(retryAfter))
    .send(noticePage(notice, readerOf(reply)))
}
