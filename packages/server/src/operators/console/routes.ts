/** The console: pages for operators, on the listener of the admin API. */
import type { FastifyInstance } from 'fastify'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { messagesOf } from '../../http/outage-log.ts'
import { networkOfCaller } from '../../observability/log/request-log.ts'
import { parseForm } from '../../protocol/oauth/form.ts'
import { OAuthError } from '../../protocol/oauth/oauth-error.ts'
import type { Admin } from '../api/admin.ts'
import { Problem, problemOf, statusOf } from '../api/problem.ts'
import type { ServerService } from '../operations/service.ts'
import { auditPages } from './audit.ts'
import { grantPages } from './grants.ts'
import { jobPages } from './jobs.ts'
import { keyPages } from './keys.ts'
import { consolePage } from './layout.ts'
import { lookPage } from './look.ts'
import { parseMultipart } from './multipart.ts'
import { overviewPage } from './overview.ts'
import { problemPage } from './problem-page.ts'
import { recordPages } from './records.ts'
import { redirectTo, sendPage } from './replies.ts'
import { settingsPage } from './settings.ts'
import { secretPages } from './shown-secret.ts'
import { signInRoutes } from './sign-in.ts'
import { addPage, type Console, frameOfRequest } from './visit.ts'
import { walletPages } from './wallets.ts'

export function consoleRoutes(server: FastifyInstance, admin: Admin, service: ServerService): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, parseForm(body as Buffer)),
  )
  server.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (request, body, done) =>
    done(null, parseMultipart(body as Buffer, request.headers['content-type'] ?? '')),
  )
  replyWithPages(server, admin)
  signInRoutes(server, admin)
  const console: Console = { admin, service, server }
  overviewPage(console)
  recordPages(console)
  secretPages(console)
  jobPages(console)
  grantPages(console)
  walletPages(console)
  keyPages(console)
  auditPages(console)
  lookPage(console)
  settingsPage(console)
  server.get('/console/', async (_request, reply) => redirectTo(reply, '/console'))
  addPage(console, '/console/*', async () => {
    throw new Problem('not_found', 'There is no such page.')
  })
}

/** A refusal is a page with the reason. */
function replyWithPages(server: FastifyInstance, admin: Admin): void {
  server.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error)
    const status = statusOf(problem)
    if (error instanceof StoreUnavailable) admin.storeOutage.failed({ problem: messagesOf(error) })
    if (status === 500) request.log.error({ err: error, request_id: request.id }, 'defect')
    const reason = error instanceof OAuthError ? error.reason : problem.code
    if (error instanceof OAuthError)
      admin.deps.audit({ event: 'refused', reason: error.reason, request_id: request.id, network: networkOfCaller(request) })
    admin.metrics?.countRefusal('console', reason)
    return sendPage(reply.code(status), consolePage(problemPage(problem, request.id), frameOfRequest(request)))
  })
}
