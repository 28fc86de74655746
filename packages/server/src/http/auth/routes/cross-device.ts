/**
 * `/login/cross-device`: the page that a QR code of the login page opens on the device with the wallet.
 *
 * The page shows the letters that the other browser shows, the app, and the kind of place of the other browser, because an attacker may
 * have sent the link or shown the QR code (as at RFC 8628 §5.4). A cross-device login begins only with the form of this page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  beginCrossDevice,
  type CrossDeviceFault,
  type CrossDeviceLogin,
  openCrossDevice,
} from '../../../domain/login/cross-device.ts'
import { describeScopes } from '../../../domain/resources/describe-scopes.ts'
import { crossDevicePage } from '../../../pages/device/device-page.ts'
import { readerOf } from '../../../pages/languages.ts'
import { type NoticeKind, noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import { clientPlace } from '../../../protocol/oauth/client-id-url.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { invalidRequest } from '../../../protocol/oauth/oauth-error.ts'
import { takeParameters } from '../../../protocol/oauth/parameters.ts'
import { formParameters } from '../form-body.ts'
import { moveOn } from '../move-on.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import { otherNetworkThan } from '../place.ts'
import type { HttpService } from '../service.ts'
import { browserOf, setBrowserCookie } from '../session-cookie.ts'

const PATH = '/login/cross-device'
/** Short, because a QR code contains it. The query is the challenge. */
const SHORT_PATH = '/phone'

export function crossDeviceRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  const show = async (request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> => {
    void reply.headers(pageHeaders(reply))
    const login = await openCrossDevice(deps, text)
    if (typeof login === 'string') return refuse(service, request, reply, login)
    return reply.send(describe(service, reply, login, text))
  }
  const page = { config: { answers: 'page' }, onRequest: requireNavigation } as const
  server.get(PATH, page, (request, reply) => {
    const { login_challenge: text } = takeParameters(parseForm(queryOf(request.url)), ['login_challenge']).values
    return show(request, reply, text ?? '')
  })
  // The browsers of some apps add parameters
  server.get(SHORT_PATH, page, (request, reply) => show(request, reply, queryOf(request.url).split('&')[0] ?? ''))

  server.post(PATH, { config: { answers: 'page' } }, async (request, reply) => {
    requireOwnOrigin(request, deps.settings.authUrl)
    void reply.headers(pageHeaders(reply))
    const { request: text, decision } = formParameters(request, ['request', 'decision'])
    const login = await openCrossDevice(deps, text ?? '')
    if (typeof login === 'string') return refuse(service, request, reply, login)
    // Anything but an explicit yes means no. A refusal stores nothing: anyone can begin a login, so anyone could cause the write.
    if (decision !== 'allow') return reply.send(noticePage({ kind: 'cross_device_denied' }, readerOf(reply)))
    return toLogin(service, request, reply, login)
  })
}

function describe({ deps }: HttpService, reply: FastifyReply, login: CrossDeviceLogin, text: string): string {
  const { client, code, place } = login
  return crossDevicePage(
    {
      action: PATH,
      sealed: text,
      userCode: code,
      clientName: client.name,
      ...clientPlace(client.id, login.request.redirectUri),
      scopes: describeScopes(deps, login.request),
      resources: login.request.resources,
      otherNetwork: otherNetworkThan(reply.request, place),
      program: place.program,
    },
    readerOf(reply),
  )
}

/** The login server is another origin, so a page leads there instead of a redirect (`form-action`). */
function toLogin(service: HttpService, request: FastifyRequest, reply: FastifyReply, login: CrossDeviceLogin): FastifyReply {
  const { deps } = service
  const begun = beginCrossDevice(deps, login, browserOf(service, request).browserKey)
  if (begun === null) throw invalidRequest('request_too_long', 'The request is too long.')
  setBrowserCookie(service, reply, begun.browserKey)
  const clientHost = new URL(deps.settings.loginUrl).host
  return moveOn(reply, { to: begun.to, clientName: '', clientHost, purpose: 'cross_device', outcome: 'to_sign' })
}

const REFUSALS: Record<CrossDeviceFault, [status: number, notice: NoticeKind]> = {
  broken: [400, 'broken_link'],
  off: [403, 'cross_device_off'],
  expired: [410, 'cross_device_expired'],
  unknown_client: [403, 'unknown_client'],
  already_used: [409, 'cross_device_used'],
  continued_elsewhere: [409, 'cross_device_used'],
  signed_on_other_device: [409, 'cross_device_used'],
}

function refuse({ deps }: HttpService, request: FastifyRequest, reply: FastifyReply, fault: CrossDeviceFault): FastifyReply {
  const reason = `cross_device_${fault}` as const
  deps.audit({ event: 'login_refused', reason, request_id: request.id })
  const [status, kind] = REFUSALS[fault]
  return reply.code(status).send(noticePage({ kind, reason, requestId: request.id }, readerOf(reply)))
}
