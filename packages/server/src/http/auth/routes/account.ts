/**
 * The account page at `/account`: what a wallet allowed to which app, its sessions, and how to end both (OpenID Connect
 * Core §16.18).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type ApprovedReceipt,
  beginLogin,
  type ConnectedAccount,
  type ConnectedApp,
  endApp,
  endSessionOf,
  type OwnReceipt,
  readAccount,
  readEnding,
  readOwnReceipt,
  sessionHandle,
  type WaitingApproval,
} from '../../../domain/account/account.ts'
import { readCounted, readServerWord } from '../../../domain/account/limits.ts'
import { approvalUrl } from '../../../domain/approvals/state.ts'
import { findProvenSession } from '../../../domain/consent/check-receipt.ts'
import { endOtherSessions } from '../../../domain/consent/end-grants.ts'
import { touchSession } from '../../../domain/consent/session.ts'
import type { LimitUse } from '../../../domain/limits/use.ts'
import { isClientId } from '../../../domain/model/client-id.ts'
import type { Deps } from '../../../domain/model/deps.ts'
import { OF_APPROVALS } from '../../../domain/model/receipt-kinds.ts'
import type { Receipt, Session } from '../../../domain/model/records.ts'
import { describeScopes } from '../../../domain/resources/describe-scopes.ts'
import {
  type AccountView,
  type ShownApp as AppView,
  accountPage,
  type ShownWaiting,
} from '../../../pages/account/account-page.ts'
import { endEverythingPage } from '../../../pages/account/end-everything-page.ts'
import type { ShownLimit } from '../../../pages/account/limit-rows.ts'
import {
  type ApprovalReceiptView,
  approvalReceiptPage,
  type ReceiptView,
  receiptPage,
} from '../../../pages/account/receipt-page.ts'
import type { ReceiptLink, ShownApproval } from '../../../pages/account/signed-rows.ts'
import { readerOf } from '../../../pages/languages.ts'
import { movingOnPage } from '../../../pages/moving-on-page.ts'
import { noticePage } from '../../../pages/notice-page.ts'
import { pageHeaders } from '../../../pages/page-headers.ts'
import type { Scope } from '../../../pages/parts.ts'
import { shortAddress } from '../../../pages/words.ts'
import { clientPlace, isUnregistered } from '../../../protocol/oauth/client-id-url.ts'
import { publisherOf } from '../../../protocol/wallet/app-place.ts'
import { apiHostOf } from '../../../protocol/wallet/approval-message.ts'
import { type ApprovedAction, readApproval } from '../../../protocol/wallet/read-approval.ts'
import { readConsent } from '../../../protocol/wallet/read-consent.ts'
import { NOT_SIGNED } from '../../../protocol/wallet/server-word.ts'
import { accountShown } from '../account-shown.ts'
import { formParameters } from '../form-body.ts'
import { requireNavigation } from '../navigation.ts'
import { requireOwnOrigin } from '../own-origin.ts'
import { redirect, seeOther } from '../redirect.ts'
import type { HttpService } from '../service.ts'
import { browserOf, clearSessionCookie, setBrowserCookie } from '../session-cookie.ts'

const PAGE = { config: { answers: 'page' } } as const
const DONE = ['app_ended', 'session_ended', 'others_ended'] as const
/** The number of a row on one page of a list. */
const ROW = /^\d{1,2}$/
/** The number of a draw. */
const DRAW = /^\d{1,5}$/

export function accountRoutes(server: FastifyInstance, service: HttpService): void {
  accountPageRoute(server, service)
  receiptRoute(server, service)
  endingRoutes(server, service)
  endEverythingRoutes(server, service)
}

function accountPageRoute(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.get<{ Querystring: { done?: string; at?: unknown; page?: unknown } }>(
    '/account',
    { ...PAGE, onRequest: requireNavigation },
    async (request, reply) => {
      void reply.headers(pageHeaders(reply))
      const session = await sessionOfRequest(service, request)
      if (!session) return signIn(service, request, reply)
      await touchSession(deps, session)
      const { done, at } = request.query
      const page = typeof request.query.page === 'string' ? request.query.page : null
      const account = await readAccount(deps, session, page)
      const isFirst = account.apps && account.sessions
      const place = { at: ROW.test(String(at)) ? Number(at) : 0, page: isFirst ? undefined : (page ?? undefined) }
      const view = { ...(await viewOf(deps, account, session)), ...place, done: DONE.find((each) => each === done) }
      return reply.send(accountPage(view, readerOf(reply)))
    },
  )
}

function receiptRoute(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.get<{ Params: { id: string }; Querystring: { before?: unknown } }>(
    '/account/receipts/:id',
    PAGE,
    async (request, reply) => {
      void reply.headers(pageHeaders(reply))
      const session = await sessionOfRequest(service, request)
      if (!session) return signIn(service, request, reply)
      const [, id = '', download] = /^([0-9a-f-]{36})(\.json)?$/.exec(request.params.id) ?? []
      const receipt = await readOwnReceipt(deps, session, id)
      if (!receipt) return reply.code(404).send(noticePage({ kind: 'receipt_not_found', retryUrl: '/account' }, readerOf(reply)))
      const { message, signature, wallet, chainId } = receipt
      if (download) {
        const word = await readServerWord(deps, receipt)
        const file = { message, signature, address: wallet, chain_id: chainId, ...(word && { [NOT_SIGNED]: word }) }
        return reply
          .header('content-type', 'application/json; charset=utf-8')
          .header('content-disposition', `attachment; filename="grantor-receipt-${id}.json"`)
          .send(`${JSON.stringify(file, null, 2)}\n`)
      }
      if (receipt.clientId === OF_APPROVALS)
        return reply.send(approvalReceiptPage(approvalReceiptOf(deps, receipt), readerOf(reply)))
      const before = DRAW.test(String(request.query.before)) ? Number(request.query.before) : undefined
      const [client, counted] = await Promise.all([deps.clients.find(receipt.clientId), readCounted(deps, receipt, before)])
      return reply.send(
        receiptPage(
          {
            id,
            clientName: client?.name ?? '',
            ...clientPlace(receipt.clientId, receipt.redirectUri),
            scopes: describeScopes(deps, receipt),
            resources: receipt.resources,
            issuedAt: receipt.issuedAt,
            until: receipt.expiresAt,
            withdrawn: receipt.withdrawnAt !== null,
            message,
            signature,
            chainId,
            walletShort: shortAddress(wallet),
            ...limitView(deps, { message, counted, isFirst: before === undefined }),
            now: deps.now(),
          },
          readerOf(reply),
        ),
      )
    },
  )
}

function endingRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.post('/account/apps/end', PAGE, async (request, reply) =>
    forSession(service, { request, reply }, async (session) => {
      const { client_id: clientId, at, cursor } = formParameters(request, ['client_id', 'at', 'cursor'])
      const isId = clientId !== null && (isClientId(clientId) || isUnregistered(clientId))
      const ending = isId ? await endApp(deps, session, clientId) : null
      return seeOther(reply, ending === null ? doneAt('app_ended', at, cursor) : `/account/ending?job=${ending}`)
    }),
  )

  server.post('/account/sessions/end', PAGE, async (request, reply) =>
    forSession(service, { request, reply }, async (session) => {
      const { session: handle, at, cursor } = formParameters(request, ['session', 'at', 'cursor'])
      const own = handle !== null && (await endSessionOf(deps, session, handle))
      return own ? signedOut(service, reply) : seeOther(reply, doneAt('session_ended', at, cursor))
    }),
  )

  server.post('/account/sessions/end-others', PAGE, async (request, reply) =>
    forSession(service, { request, reply }, async (session) => {
      await endOtherSessions(deps, session)
      return seeOther(reply, doneAt('others_ended'))
    }),
  )

  server.post('/account/sign-out', PAGE, async (request, reply) =>
    forSession(service, { request, reply }, async (session) => {
      await endSessionOf(deps, session, sessionHandle(session.hash))
      return signedOut(service, reply)
    }),
  )
}

/** The row of the page of the list in which the user requested the action. */
function doneAt(done: (typeof DONE)[number], at: string | null = null, page: string | null = null): string {
  return `/account?${new URLSearchParams({ done, ...(at && { at }), ...(page && { page }) }).toString()}#done`
}

function endEverythingRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  // No session is needed: it may have ended.
  server.get<{ Querystring: { job?: unknown } }>('/account/ending', PAGE, async ({ query, url }, reply) => {
    void reply.headers(pageHeaders(reply))
    const job = typeof query.job === 'string' ? await readEnding(deps, query.job) : null
    if (!job) return reply.code(404).send(noticePage({ kind: 'broken_link' }, readerOf(reply)))
    if (job.doneAt === null)
      return reply.send(noticePage({ kind: 'ending_under_way', count: job.grantsEnded, retryUrl: url }, readerOf(reply)))
    return reply.send(noticePage({ kind: 'ending_done', retryUrl: '/account' }, readerOf(reply)))
  })

  server.get('/account/end-everything', PAGE, async (request, reply) => {
    const session = await sessionOfRequest(service, request)
    const account = session ? await accountShown(deps, session) : null
    return reply
      .headers(pageHeaders(reply))
      .send(endEverythingPage({ action: '/account/end-everything', account }, readerOf(reply)))
  })

  // No session is needed: a user who lost all sessions still has the key, and one signature is enough.
  server.post('/account/end-everything', PAGE, async (request, reply) => {
    requireOwnOrigin(request, deps.settings.authUrl)
    const { to, browserKey } = beginLogin(deps, 'end_everything', browserOf(service, request).browserKey)
    setBrowserCookie(service, reply, browserKey)
    // The login server is another origin, so a page leads there instead of a redirect (`form-action`).
    const clientHost = new URL(deps.settings.loginUrl).host
    const page = movingOnPage({ to, clientName: '', clientHost, purpose: 'end_everything', outcome: 'to_sign' }, readerOf(reply))
    return reply.headers(pageHeaders(reply)).send(page)
  })
}

function sessionOfRequest(service: HttpService, request: FastifyRequest): Promise<Session | null> {
  return findProvenSession(service.deps, browserOf(service, request).sessionId)
}

/** To the login page, and from there back to the account page. */
function signIn(service: HttpService, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { to, browserKey } = beginLogin(service.deps, 'account', browserOf(service, request).browserKey)
  setBrowserCookie(service, reply, browserKey)
  return redirect(reply, to)
}

async function forSession(
  service: HttpService,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  run: (session: Session) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  requireOwnOrigin(request, service.deps.settings.authUrl)
  void reply.headers(pageHeaders(reply))
  const session = await sessionOfRequest(service, request)
  if (!session) return reply.code(401).send(noticePage({ kind: 'login_required_again', retryUrl: '/account' }, readerOf(reply)))
  return run(session)
}

function signedOut(service: HttpService, reply: FastifyReply): FastifyReply {
  clearSessionCookie(service, reply)
  return reply.send(noticePage({ kind: 'signed_out', retryUrl: '/account' }, readerOf(reply)))
}

async function viewOf(
  deps: Deps,
  { waiting, apps, approved, ended, sessions }: ConnectedAccount,
  session: Session,
): Promise<AccountView> {
  return {
    ...(await accountShown(deps, session)),
    signedIn: session.method,
    waiting: waiting?.map((each) => waitingView(deps, each)),
    approved: approved && { ...approved, rows: approved.rows.map(approvalView) },
    apps: apps && { ...apps, rows: apps.rows.map((app) => appView(deps, app)) },
    ended: ended && {
      ...ended,
      rows: ended.rows.map(({ receipt, ...app }) => ({ ...app, clientId: receipt.clientId, ...receiptLink(receipt) })),
    },
    sessions: sessions && {
      ...sessions,
      rows: sessions.rows.map(({ hash, authTime, lastSeenAt, expiresAt, chainId, browser }) => ({
        handle: sessionHandle(hash),
        current: hash === session.hash,
        browser,
        since: authTime,
        lastSeen: lastSeenAt,
        until: expiresAt,
        chainId,
      })),
    },
    now: deps.now(),
  }
}

function waitingView({ settings }: Deps, { request, apps: [app] }: WaitingApproval): ShownWaiting {
  const { resource, summary, expiresAt: until } = request
  return {
    ...clientPlace(app.id, ''),
    clientName: app.name,
    href: approvalUrl(settings, request),
    summary,
    api: apiHostOf(resource),
    until,
  }
}

function approvalView({ receipt: { id, issuedAt }, action }: ApprovedReceipt): ShownApproval {
  return { id, issuedAt, ...wordsOf(action) }
}

/** The name of an app that no operator registered is not checked, so its publisher stands for it; empty if the app registered itself. */
function wordsOf({ clientId, clientName, summary, apiHost: api }: ApprovedAction) {
  return { clientId, clientName: publisherOf(clientId) ?? clientName, summary, api }
}

function approvalReceiptOf(deps: Deps, receipt: OwnReceipt): ApprovalReceiptView {
  const { id, message, signature, scopes, resources, issuedAt, wallet, chainId } = receipt
  const action = readApproval(message)
  const words = action ? wordsOf(action) : { clientId: '', clientName: '', summary: '', api: '' }
  const [scope = { name: '', description: '' }] = describeScopes(deps, { scopes, resources, scopesByResource: null })
  return { id, message, signature, ...words, scope, issuedAt, chainId, walletShort: shortAddress(wallet) }
}

/** The limit as the text has it, which is the word of the wallet, and what the service counted. */
function limitView(
  deps: Deps,
  { message, counted, isFirst }: { message: string; counted: Awaited<ReturnType<typeof readCounted>>; isFirst: boolean },
): Pick<ReceiptView, 'limit' | 'counted'> {
  const limit = readConsent(message)?.limit
  if (!limit || counted === 'none') return {}
  const signed = { scope: scopeOf(deps, limit), limit: limit.limit }
  if (counted === 'unknown') return { limit: signed, counted }
  const { rows: draws, more, isOver } = counted
  return { limit: signed, counted: { ...shownLimit(deps, counted), draws, isFirst, more, isOver } }
}

function shownLimit(deps: Deps, use: LimitUse): ShownLimit {
  const { limit, used, left, until } = use
  return { scope: scopeOf(deps, use), limit, used, left, until }
}

function scopeOf(deps: Deps, { scope, resource }: Pick<LimitUse, 'scope' | 'resource'>): Scope {
  const [described] = describeScopes(deps, { scopes: [scope], resources: [resource], scopesByResource: null })
  return described ?? { name: scope, description: scope }
}

function appView(deps: Deps, { receipts, limits, scopes, resources, scopesByResource, ...app }: ConnectedApp): AppView {
  return {
    ...app,
    scopes: describeScopes(deps, { scopes, resources, scopesByResource }),
    limits: limits.map((use) => ({ ...shownLimit(deps, use), receiptId: use.receiptId })),
    receipts: receipts.map(receiptLink),
  }
}

function receiptLink({ id, issuedAt, expiresAt, withdrawnAt }: Receipt): ReceiptLink {
  return { id, issuedAt, until: expiresAt, withdrawn: withdrawnAt !== null }
}
