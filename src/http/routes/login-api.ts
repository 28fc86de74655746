/**
 * What the login server asks behind its page: `/login/challenge`, `/login/message`, `/login/accept`, `/login/reject`.
 * JSON both ways, Basic `login-server` with the shared secret; only then is its word on the person's address believed.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { acceptLogin, composeText, describeChallenge, rejectLogin } from '../../grants/login.ts'
import { LoginError } from '../../grants/login-error.ts'
import type { WalletClaim } from '../../grants/sign-in-text.ts'
import { parseForm, queryOf } from '../../oauth/form.ts'
import { invalidClient, tooManyFailures } from '../../oauth/oauth-error.ts'
import { networkOf } from '../../ops/network.ts'
import { basicCredentialsOf } from '../client-credentials.ts'
import { JSON_HEADERS, replyWithError, statusOf } from '../error-reply.ts'
import type { Service } from '../service.ts'

type Fields = Record<string, unknown>

export function loginApiRoutes(server: FastifyInstance, service: Service): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'string' }, server.getDefaultJsonParser('error', 'error'))
  server.setErrorHandler((error, request, reply) => replyWithError(service, inTheseWords(error), request, reply))
  // Before a body is read: whoever is not the login server is not listened to.
  server.addHook('onRequest', async (request) => requireLoginServer(service, request))
  server.addHook('onSend', async (_request, reply) => void reply.headers(JSON_HEADERS))

  server.get('/login/challenge', async (request) => {
    const sent = parseForm(queryOf(request.url)).get('login_challenge') ?? []
    return describeChallenge(service.deps, (sent.length === 1 && sent[0]?.text) || '')
  })
  server.post('/login/message', async (request) => {
    const fields = fieldsOf(request)
    return counted(service, request, fields, async () => ({ message: await composeText(service.deps, claimOf(fields)) }))
  })
  server.post('/login/accept', async (request) => {
    const fields = fieldsOf(request)
    const redirect_to = await counted(service, request, fields, () =>
      acceptLogin(service.deps, claimOf(fields), optionalText(fields, 'signature')),
    )
    return { status: 'success', redirect_to }
  })
  server.post('/login/reject', async (request) => {
    const fields = fieldsOf(request)
    const redirect_to = await counted(service, request, fields, async () =>
      rejectLogin(service.deps, text(fields, 'login_challenge')),
    )
    return { status: 'denied', redirect_to }
  })
}

function requireLoginServer(service: Service, request: FastifyRequest): void {
  const presented = basicCredentialsOf(request)
  const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest()
  const proven =
    presented.kind === 'credentials' &&
    presented.id === 'login-server' &&
    timingSafeEqual(digest(presented.secret), digest(service.loginSecret))
  if (proven) return
  const verdict = service.failures.recordFailure(`${networkOf(request.ip)} login-server`)
  throw verdict.allowed ? invalidClient('not_the_login_server') : tooManyFailures(verdict.retryAfter)
}

/**
 * Counts failures per network and challenge, never per address: addresses are public, and a victim could be locked out.
 * Counted after the fact, so a correct signature is never refused for somebody else's failures.
 */
async function counted<Result>(
  service: Service,
  request: FastifyRequest,
  fields: Fields,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    // What could not be checked is nobody's failure.
    if (!(error instanceof LoginError) || error.retryAfter !== undefined) throw error
    const network = networkOf(typeof fields.client_ip === 'string' ? fields.client_ip : request.ip)
    const { login_challenge } = fields
    const challenge = createHash('sha256')
      .update(typeof login_challenge === 'string' ? login_challenge : '')
      .digest('base64url')
    const verdict = service.failures.recordFailure(`${network} login`, `${network} ${challenge}`)
    throw verdict.allowed ? error : tooManyFailures(verdict.retryAfter)
  }
}

/** What the framework refused before a route saw it, as this API says it. */
function inTheseWords(error: unknown): unknown {
  const status = statusOf(error)
  if (status === 413) return new LoginError('too_large', 'body_too_large')
  return status === 415 ? new LoginError('unsupported_media_type', 'body_not_json') : error
}

function claimOf(fields: Fields): WalletClaim {
  const chainId = fields.chain_id
  if (typeof chainId !== 'number' || !Number.isSafeInteger(chainId)) throw new LoginError('invalid_request', 'chain_id_malformed')
  return {
    challenge: text(fields, 'login_challenge'),
    address: text(fields, 'address'),
    chainId,
    // Every scope switched off is a choice too: taken for none made, it would mean all of them.
    scope: fields.scope === '' ? '' : optionalText(fields, 'scope'),
  }
}

function fieldsOf(request: FastifyRequest): Fields {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new LoginError('invalid_request', 'body_not_an_object')
  return body as Fields
}

function text(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw new LoginError('invalid_request', `${name}_missing`)
  return value
}

function optionalText(fields: Fields, name: string): string | null {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new LoginError('invalid_request', `${name}_malformed`)
  return value
}
