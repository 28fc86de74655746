import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify, { LogController } from 'fastify'
import { createConnection } from './connection.ts'
import { endedSessionCookie, readSessionCookie, sessionCookie } from './cookie.ts'
import { guard } from './guards.ts'
import { forYourTestsPage } from './pages/for-your-tests-page.ts'
import { icon } from './pages/icon.ts'
import { inYourAppPage } from './pages/in-your-app-page.ts'
import { noticePage } from './pages/notice-page.ts'
import { stepsPage } from './pages/steps-page.ts'
import { style } from './pages/style.ts'
import { welcomePage } from './pages/welcome-page.ts'
import { explainFailure } from './report.ts'
import { createSessions } from './sessions.ts'
import { finishSignIn, startSignIn, takeAttempt } from './sign-in.ts'
import { steps, takeStep } from './steps.ts'

export interface BuilderAppOptions {
  /** The authorization service's address, exactly as it writes `iss`. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Where browsers reach this app, without a path, e.g. `http://localhost:4002`. Its redirect URI is `${baseUrl}/callback`. */
  baseUrl: string
  /** The demo resource API, e.g. `http://localhost:4003`; the app calls `${apiUrl}/me`. */
  apiUrl: string
  logger?: FastifyBaseLogger
  /** Epoch seconds; the machine's clock when absent. */
  now?: () => number
}

/**
 * The demo builder app, not listening yet: a web app that asks for a wallet's permission and shows each message that
 * passes. It knows the authorization service by its issuer, its id and its secret, and speaks to it with openid-client.
 */
export function createBuilderApp(options: BuilderAppOptions): FastifyInstance {
  const { issuer, baseUrl, apiUrl, logger, now = () => Math.floor(Date.now() / 1_000) } = options
  const redirectUri = `${baseUrl}/callback`
  const connect = createConnection(options)
  const sessions = createSessions()
  const sessionOf = (request: FastifyRequest) => sessions.find(readSessionCookie(request.headers.cookie))

  const app = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    // The line of a request to /callback would hold a code.
    logController: new LogController({ disableRequestLogging: true }),
  })
  guard(app, baseUrl)

  app.get('/', async (request, reply) => {
    const session = sessionOf(request)
    const page = session?.tokens
      ? stepsPage(session, session.tokens, { issuer, baseUrl, apiUrl }, now())
      : welcomePage({ issuer, baseUrl, apiUrl }, session?.notice)
    if (session) session.notice = undefined
    return await reply.send(page)
  })

  // Phase 1: off to the authorization service …
  app.get('/start', async (request, reply) => {
    const session = sessionOf(request) ?? sessions.open()
    reply.header('set-cookie', sessionCookie(session.id, baseUrl))
    try {
      return await reply.redirect((await startSignIn(connect, session, redirectUri)).href, 302)
    } catch (error) {
      session.notice = { ...explainFailure(error), at: now(), exchange: undefined }
      return await reply.redirect('/', 302)
    }
  })

  // … and back, with a code or with an error.
  app.get('/callback', async (request, reply) => {
    const session = sessionOf(request)
    const cameBack = new URL(request.url, baseUrl)
    const attempt = takeAttempt(session, cameBack)
    if (!session || !attempt) return await strayAnswer(reply)
    const report = await inTurn(session, async () => await finishSignIn(connect, session, attempt, cameBack, now))
    if (report.outcome !== 'done') {
      session.notice = report
      return await reply.redirect('/', 302)
    }
    // RFC 6819 §4.4.1.13: who signed in gets a session id that nobody knew before.
    sessions.renew(session)
    reply.header('set-cookie', sessionCookie(session.id, baseUrl))
    // Away from the address with the code in it.
    return await reply.redirect('/', 302)
  })

  // Calling the API, and phases 2 to 4.
  for (const name of Object.keys(steps) as (keyof typeof steps)[]) {
    app.post(`/${name}`, async (request, reply) => {
      const session = sessionOf(request)
      if (session) {
        await inTurn(session, async () => {
          if (session.tokens) await takeStep(name, session.tokens, session, { connect, apiUrl, now })
        })
      }
      return await reply.redirect(`/#${name}-result`, 303)
    })
  }

  app.post('/sign-out', async (request, reply) => {
    const session = sessionOf(request)
    if (session) sessions.end(session)
    return await reply.header('set-cookie', endedSessionCookie(baseUrl)).redirect('/', 303)
  })

  app.get('/in-your-app', async (_request, reply) => await reply.send(inYourAppPage({ issuer, clientId: options.clientId })))
  app.get('/for-your-tests', async (_request, reply) => await reply.send(forYourTestsPage({ baseUrl })))

  app.get('/style.css', async (_request, reply) => await reply.type('text/css; charset=utf-8').send(style))
  app.get('/icon.svg', async (_request, reply) => await reply.type('image/svg+xml').send(icon))
  app.setNotFoundHandler(
    async (_request, reply) => await reply.code(404).send(noticePage('Nothing here', 'This app has no such page.')),
  )
  app.setErrorHandler(async (error, request, reply) => {
    request.log.error({ err: error }, 'the demo app failed')
    const words = `That is this app’s fault, not yours. Its log knows more under ${request.id}.`
    return await reply.code(500).send(noticePage('Something went wrong', words))
  })
  return app
}

/** An answer this browser did not ask for: another browser's sign-in, one that was finished already, or somebody's trick. */
async function strayAnswer(reply: FastifyReply) {
  const words = 'It was started in another browser, or it was finished already. Nothing happened; you can start a new one.'
  const way = { href: '/start', label: 'Sign in' }
  return await reply.code(400).send(noticePage('This sign-in does not belong here', words, way))
}

async function inTurn<Result>(session: { turn: Promise<unknown> }, work: () => Promise<Result>): Promise<Result> {
  const mine = session.turn.then(work)
  session.turn = mine.catch(() => {})
  return await mine
}
