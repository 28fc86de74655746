import { readFileSync } from 'node:fs'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import { connectAuthService } from './auth-service.ts'
import { guard } from './guard.ts'
import { type Login, loginPage } from './pages.ts'
import { Refusal } from './refusal.ts'

export interface OwnLoginServerOptions {
  /** The address of the auth service: GRANTOR_AUTH_URL, or an internal address. */
  authUrl: string
  /** This server's public origin: GRANTOR_LOGIN_URL of the auth service. Every signed text contains its host. */
  loginUrl: string
  /** GRANTOR_LOGIN_SECRET of the auth service. It never leaves this process. */
  loginSecret: string
  /** Addresses of proxies whose X-Forwarded-For is trusted. */
  trustedProxies?: string[]
  /**
   * Vouching: returns the wallet that the user of this request has proven to the platform before, for example by the
   * platform's session, or undefined. Needs GRANTOR_LOGIN_MAY_VOUCH=on. If absent, users sign in with a signature only.
   */
  authenticatedWallet?: (request: FastifyRequest) => Promise<string | undefined>
  logger?: FastifyBaseLogger
}

const script = readFileSync(new URL('./sign-in.js', import.meta.url), 'utf8')

/** A platform's own login server, which does not listen yet. It shows the app and its request, and forwards the wallet's signature. */
export function createOwnLoginServer(options: OwnLoginServerOptions): FastifyInstance {
  const { authUrl, loginUrl, loginSecret, trustedProxies = [], authenticatedWallet, logger } = options
  const callAuthService = connectAuthService(authUrl, loginSecret)
  const app = Fastify({
    ...(logger ? { loggerInstance: logger } : {}),
    logController: new LogController({ disableRequestLogging: true }), // the lines would contain challenges
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    bodyLimit: 16_384,
    requestTimeout: 10_000,
  })
  guard(app, new URL(loginUrl).origin)

  app.get('/login', async (request, reply) => {
    const { login_challenge: challenge } = request.query as Record<string, unknown>
    if (typeof challenge !== 'string') throw new Refusal(400, 'invalid_request', 'This link is incomplete.')
    const login = (await callAuthService(`/login/challenge?login_challenge=${encodeURIComponent(challenge)}`)) as Login
    const page = loginPage(challenge, login, await authenticatedWallet?.(request))
    return reply.type('text/html; charset=utf-8').send(page)
  })
  app.get('/sign-in.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(script))
  app.post('/login/message', async (request) => callAuthService('/login/message', claimOf(request)))
  app.post('/login/cancel', async (request) => callAuthService('/login/reject', claimOf(request)))

  app.post('/login', async (request) => {
    const { signature } = fieldsOf(request)
    // Without a signature, `/login/accept` means that the platform vouches for the wallet. A user must not be able to send that.
    if (typeof signature !== 'string' || signature === '') throw new Refusal(400, 'invalid_request', 'The signature is missing.')
    return callAuthService('/login/accept', { ...claimOf(request), signature })
  })
  if (authenticatedWallet) {
    app.post('/login/vouch', async (request) => {
      const address = await authenticatedWallet(request) // replaces the address in the body
      if (address === undefined) throw new Refusal(401, 'not_signed_in', 'You are not signed in to the platform any more.')
      return callAuthService('/login/accept', { ...claimOf(request), address })
    })
  }
  return app
}

/** Only these fields are forwarded: otherwise the body could set `client_ip`. */
function claimOf(request: FastifyRequest): Record<string, unknown> {
  const { login_challenge, address, chain_id, scope } = fieldsOf(request)
  // The user chose no scope. An empty `scope` means all requested scopes to the auth service, so it must not be forwarded.
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
