/** The console: pages for operators, on the listener of the admin API. */
import type { FastifyInstance } from 'fastify'
import { parseForm } from '../../oauth/form.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { problemPage } from '../../pages/console/problem-page.ts'
import type { Admin } from '../admin.ts'
import { notFound, problemOf, STATUS } from '../problem.ts'
import { auditPages } from './audit.ts'
import { clientPages } from './clients.ts'
import { addPage, type Console, frameOfRequest } from './console.ts'
import { jobPages } from './jobs.ts'
import { keyPages } from './keys.ts'
import { operatorPages } from './operators.ts'
import { overviewPage } from './overview.ts'
import { redirectTo, sendPage } from './replies.ts'
import { resourcePages } from './resources.ts'
import { signInRoutes } from './sign-in.ts'
import { walletPages } from './wallets.ts'

export function consoleRoutes(server: FastifyInstance, admin: Admin): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, parseForm(body as Buffer)),
  )
  replyWithPages(server, admin)
  signInRoutes(server, admin)
  const console: Console = { admin, server }
  overviewPage(console)
  clientPages(console)
  jobPages(console)
  resourcePages(console)
  walletPages(console)
  keyPages(console)
  operatorPages(console)
  auditPages(console)
  server.get('/console/', async (_request, reply) => redirectTo(reply, '/console'))
  addPage(console, '/console/*', async () => {
    throw notFound('page')
  })
}

/** A refusal is a page that says why. */
function replyWithPages(server: FastifyInstance, admin: Admin): void {
  server.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error)
    const status = STATUS[problem.code]
    if (status === 500) request.log.error({ err: error, request_id: request.id }, 'defect')
    if (!(error instanceof OAuthError)) admin.metrics?.countRefusal('console', problem.code)
    const { message: detail, faults, code } = problem
    return sendPage(
      reply.code(status),
      problemPage({ code, detail, faults: [...faults], requestId: request.id, frame: frameOfRequest(request) }),
    )
  })
}
