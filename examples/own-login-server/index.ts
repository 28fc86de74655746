import { readFileSync } from 'node:fs'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import { connectAuthService } from './auth-service.ts'
import { guard } from './guard.ts'
import { type Login, loginPage } from './pages.ts'
import { Refusal } from './refusal.ts'

export interface OwnLoginServerOptions {
  /** Where the auth service answers: GRANTOR_AUTH_URL, or an internal address of it. */
  authUrl: string
  /** This server's public origin: GRANTOR_LOGIN_URL of the auth service. Its host stands in every text that is signed. */
  loginUrl: string
  /** GRANTOR_LOGIN_SECRET of the auth service. It never leaves this process. */
  loginSecret: string
  /** Proxies whose X-Forwarded-For is believed. */
  trustedProxies?: string[]
  /**
   * Vouching: the wallet that whoever sends this request has proven to the platform before, by the platform's own
   * session; undefined for anybody else. Needs GRANTOR_LOGIN_MAY_VOUCH=on. Left out, only signatures sign anybody in.
   */
  authenticatedWallet?: (request: FastifyRequest) => Promise<string | undefined>
  logger?: FastifyBaseLogger
}

const script = readFileSync(new URL('./sign-in.js', import.meta.url), 'utf8')

/** A platform's own login server, not listening yet: it shows who asks for what, and carries the wallet's signature. */
export function createOwnLoginServer(options: OwnLoginServerOptions): FastifyInstance {
  const { authUrl, loginUrl, loginSecret, trustedProxies = [], authenticatedWallet, logger } = options
  const ask = connectAuthService(authUrl, loginSecret)
  const app = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    logController: new LogController({ disableRequestLogging: true }), // its lines would hold challenges
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    bodyLimit: 16_384,
    requestTimeout: 10_000,
  })
  guard(app, new URL(loginUrl).origin)

  app.get('/login', async (request, reply) => {
    const { login_challenge: challenge } = request.query as Record<string, unknown>
    if (typeof challenge !== 'string') throw new Refusal(400, 'invalid_request', 'This link is incomplete.')
    const login = (await ask(`/login/challenge?login_challenge=${encodeURIComponent(challenge)}`)) as Login
    const page = loginPage(challenge, login, await authenticatedWallet?.(request))
    return reply.type('text/html; charset=utf-8').send(page)
  })
  app.get('/sign-in.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(script))
  app.post('/login/message', async (request) => ask('/login/message', claimOf(request)))
  app.post('/login/cancel', async (request) => ask('/login/reject', claimOf(request)))

  app.post('/login', async (request) => {
    const { signature } = fieldsOf(request)
    // The auth service takes an accept without a signature for the platform's own word: a visitor must never give that.
    if (typeof signature !== 'string' || signature === '') throw new Refusal(400, 'invalid_request', 'The signature is missing.')
    return ask('/login/accept', { ...claimOf(request), signature })
  })
  if (authenticatedWallet) {
    app.post('/login/vouch', async (request) => {
      const address = await authenticatedWallet(request) // whatever address the body names
      if (address === undefined) throw new Refusal(401, 'not_signed_in', 'You are not signed in to the platform any more.')
      return ask('/login/accept', { ...claimOf(request), address })
    })
  }
  return app
}

/** The fields of the contract and no others: a body that is passed on whole could bring a `client_ip` of its own. */
function claimOf(request: FastifyRequest): Record<string, unknown> {
  const { login_challenge, address, chain_id, scope } = fieldsOf(request)
  // To the auth service an empty scope names none, which means all that was asked for: the opposite of what was chosen.
  if (scope === '') throw new Refusal(400, 'invalid_request', 'At least one permission must stay on.')
  return { login_challenge, address, chain_id, scope, client_ip: request.ip }
}

function fieldsOf({ body }: FastifyRequest): Record<string, unknown> {
  return (body ?? {}) as Record<string, unknown>
}

// node examples/own-login-server/index.ts
if (import.meta.main) {
  const { GRANTOR_AUTH_URL = '', GRANTOR_LOGIN_URL = '', GRANTOR_LOGIN_SECRET = '', PORT = '4001' } = process.env
  const options = { authUrl: GRANTOR_AUTH_URL, loginUrl: GRANTOR_LOGIN_URL, loginSecret: GRANTOR_LOGIN_SECRET }
  await createOwnLoginServer(options).listen({ host: '127.0.0.1', port: Number(PORT) })
}
