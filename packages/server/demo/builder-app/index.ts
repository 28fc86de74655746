import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify, { LogController } from 'fastify'
import { type Connection, createConnection } from './connection.ts'
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
import { createSessions, type DemoSession } from './sessions.ts'
import { finishSignIn, startSignIn, takeAttempt } from './sign-in.ts'
import { steps, takeStep } from './steps.ts'

export interface BuilderAppOptions {
  /** The issuer: the address of the authorization service, exactly as in `iss`. */
  issuer: string
  clientId: string
  clientSecret: string
  /** The address of this app, without a path, e.g. `http://localhost:4002`. Its redirect URI is `${baseUrl}/callback`. */
  baseUrl: string
  /** The demo resource API, e.g. `http://localhost:4003`; the app calls `${apiUrl}/me`. */
  apiUrl: string
  logger?: FastifyBaseLogger
  /** Epoch seconds; the machine's clock if absent. */
  now?: () => number
}

/**
 * The demo builder app, which does not listen yet: a web app that acts on behalf of a wallet and shows each message. It
 * uses openid-client for its requests to the authorization service.
 */
export function createBuilderApp(options: BuilderAppOptions): FastifyInstance {
  const { baseUrl, logger, now = () => Math.floor(Date.now() / 1_000) } = options
  const sessions = createSessions()
  const demo: Demo = {
    ...options,
    now,
    connect: createConnection(options),
    sessions,
    sessionOf: (request) => sessions.find(readSessionCookie(request.headers.cookie)),
  }
  const app = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    // The log line of a request to /callback would contain a code.
    logController: new LogController({ disableRequestLogging: true }),
  })
  guard(app, baseUrl)
  addSignIn(app, demo)
  addSteps(app, demo)
  addPages(app, demo)
  addErrorPages(app)
  return app
}

interface Demo extends Omit<BuilderAppOptions, 'now'> {
  now: () => number
  connect: Connection
  sessions: ReturnType<typeof createSessions>
  sessionOf: (request: FastifyRequest) => DemoSession | undefined
}

/** Phase 1: the redirect to the authorization service, and the return with a code or an error. */
function addSignIn(app: FastifyInstance, { baseUrl, connect, sessions, sessionOf, now }: Demo): void {
  app.get('/start', async (request, reply) => {
    const session = sessionOf(request) ?? sessions.open()
    reply.header('set-cookie', sessionCookie(session.id, baseUrl))
    try {
      return await reply.redirect((await startSignIn(connect, session, `${baseUrl}/callback`)).href, 302)
    } catch (error) {
      session.notice = { ...explainFailure(error), at: now(), exchange: undefined }
      return await reply.redirect('/', 302)
    }
  })

  app.get('/callback', async (request, reply) => {
    const session = sessionOf(request)
    const cameBack = new URL(request.url, baseUrl)
    const attempt = takeAttempt(session, cameBack)
    if (!session || !attempt) return await refuseStrayResponse(reply)
    const report = await inTurn(session, async () => await finishSignIn(connect, session, attempt, cameBack, now))
    if (report.outcome !== 'done') {
      session.notice = report
      return await reply.redirect('/', 302)
    }
    // RFC 6819 §4.4.1.13: after the sign-in, the session has an id that no attacker can have set before.
    sessions.renew(session)
    reply.header('set-cookie', sessionCookie(session.id, baseUrl))
    // The code must not stay in the address bar.
    return await reply.redirect('/', 302)
  })
}

/** The call of the API, phases 2 to 4, and the end of the session. */
function addSteps(app: FastifyInstance, { baseUrl, apiUrl, connect, sessions, sessionOf, now }: Demo): void {
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
}

function addPages(app: FastifyInstance, { issuer, clientId, baseUrl, apiUrl, sessionOf, now }: Demo): void {
  app.get('/', async (request, reply) => {
    const session = sessionOf(request)
    const page = session?.tokens
      ? stepsPage(session, session.tokens, { issuer, baseUrl, apiUrl }, now())
      : welcomePage({ issuer, baseUrl, apiUrl }, session?.notice)
    if (session) session.notice = undefined
    return await reply.send(page)
  })
  app.get('/in-your-app', async (_request, reply) => await reply.send(inYourAppPage({ issuer, clientId })))
  app.get('/for-your-tests', async (_request, reply) => await reply.send(forYourTestsPage({ baseUrl })))

  app.get('/style.css', async (_request, reply) => await reply.type('text/css; charset=utf-8').send(style))
  app.get('/icon.svg', async (_request, reply) => await reply.type('image/svg+xml').send(icon))
}

function addErrorPages(app: FastifyInstance): void {
  app.setNotFoundHandler(
    async (_request, reply) => await reply.code(404).send(noticePage('Nothing here', 'This app has no such page.')),
  )
  app.setErrorHandler(async (error, request, reply) => {
    request.log.error({ err: error }, 'the demo app failed')
    const words = `This is an error of this app, not yours. Its log has the details under ${request.id}.`
    return await reply.code(500).send(noticePage('Something went wrong', words))
  })
}

/** A response that belongs to no attempt of this browser: another browser's sign-in, a finished one, or an attack. */
async function refuseStrayResponse(reply: FastifyReply) {
  const words = 'It was started in another browser, or it was finished already. Nothing happened; you can start a new one.'
  const way = { href: '/start', label: 'Sign in' }
  return await reply.code(400).send(noticePage('This sign-in does not belong here', words, way))
}

/** Runs `work` after the earlier steps of this session. */
async function inTurn<Result>(session: { turn: Promise<unknown> }, work: () => Promise<Result>): Promise<Result> {
  const mine = session.turn.then(work)
  session.turn = mine.catch(() => {})
  return await mine
}
