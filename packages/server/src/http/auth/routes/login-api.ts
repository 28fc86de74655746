/**
 * The API for the login server: `/login/challenge`, `/login/message`, `/login/accept`, `/login/reject`. Requests and
 * responses are JSON. The login server authenticates with Basic `login-server` and the shared secret; only then is the
 * user's address in `client_ip` trusted.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { acceptLogin, composeText, describeChallenge, rejectLogin } from '../../../domain/login/login.ts'
import { LoginError } from '../../../domain/login/login-error.ts'
import type { WalletClaim } from '../../../domain/login/sign-in-text.ts'
import { networkOf } from '../../../observability/log/network.ts'
import { noteCallerAddress } from '../../../observability/log/request-log.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import {
  invalidClient,
  OAuthError,
  tooManyContractChecks,
  tooManyFailures,
  tooManySignIns,
} from '../../../protocol/oauth/oauth-error.ts'
import type { ParameterName } from '../../../protocol/oauth/reasons.ts'
import { isSameSecret } from '../../../protocol/oauth/same-secret.ts'
import { LIMIT_CHOICES, type LimitChoice } from '../../../protocol/wallet/limit-choice.ts'
import { basicCredentialsOf } from '../client-credentials.ts'
import { JSON_HEADERS, replyWithError, statusOf } from '../error-reply.ts'
import type { HttpService } from '../service.ts'

type JsonFields = Record<string, unknown>

export function loginApiRoutes(server: FastifyInstance, service: HttpService): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'string' }, server.getDefaultJsonParser('error', 'error'))
  server.setErrorHandler((error, request, reply) => replyWithError(service, inTheseWords(error), request, reply))
  // Runs before the body is read: only the login server may use these routes.
  server.addHook('onRequest', async (request) => requireLoginServer(service, request))
  server.addHook('onSend', async (_request, reply) => void reply.headers(JSON_HEADERS))

  server.get('/login/challenge', async (request) => {
    const sent = parseForm(queryOf(request.url)).get('login_challenge') ?? []
    return describeChallenge(service.deps, (sent.length === 1 && sent[0]?.text) || '')
  })
  server.post('/login/message', async (request) => {
    const fields = fieldsOf(request)
    const message = await countFailures(service, callerOf(request, fields), () => composeText(service.deps, claimOf(fields)))
    return { message }
  })
  server.post('/login/accept', async (request) => {
    const fields = fieldsOf(request)
    const caller = callerOf(request, fields)
    const redirect_to = await noteRefusal(service, fields, async () => {
      countSignIn(service, caller)
      return countFailures(service, caller, () =>
        acceptLogin(service.deps, {
          claim: claimOf(fields),
          signature: optionalText(fields, 'signature'),
          admitContractCheck: (address) => countContractCheck(service, caller, address),
        }),
      )
    })
    return { status: 'success', redirect_to }
  })
  server.post('/login/reject', async (request) => {
    const fields = fieldsOf(request)
    const redirect_to = await countFailures(service, callerOf(request, fields), () =>
      rejectLogin(service.deps, text(fields, 'login_challenge')),
    )
    return { status: 'denied', redirect_to }
  })
}

function requireLoginServer(service: HttpService, request: FastifyRequest): void {
  const presented = basicCredentialsOf(request)
  const proven =
    presented.kind === 'credentials' &&
    presented.id === 'login-server' &&
    service.loginSecrets.some((secret) => isSameSecret(presented.secret, secret))
  if (proven) return
  const verdict = service.limits.count('failures', `${networkOf(request.ip)} login-server`)
  throw verdict.allowed ? invalidClient('not_the_login_server') : tooManyFailures(verdict.retryAfter)
}

/** The user's network, if the login server sends it; otherwise the network of the login server itself. */
type Caller = { network: string; isPerson: boolean }

function callerOf(request: FastifyRequest, { client_ip: clientIp }: JsonFields): Caller {
  const isPerson = typeof clientIp === 'string'
  if (isPerson) noteCallerAddress(clientIp)
  return { network: networkOf(isPerson ? clientIp : request.ip), isPerson }
}

/**
 * Counts a sign-in before its signature is recovered, whether or not it succeeds, because the recovery is expensive. A
 * login server that does not send the user's address has one network for all users, so its sign-ins are not counted.
 */
function countSignIn({ limits }: HttpService, { network, isPerson }: Caller): void {
  if (!isPerson) return
  const verdict = limits.count('sign_ins', network)
  if (!verdict.allowed) throw tooManySignIns(verdict.retryAfter)
}

/**
 * Counts a proof before it causes calls to a chain: for its network, then for its network and address together. With a
 * count for the address alone, any caller could use up the checks of a contract wallet. A network above its limit of
 * failures causes no calls.
 */
function countContractCheck({ limits }: HttpService, caller: Caller, address: string): string | null {
  if (!caller.isPerson) return null
  const { network } = caller
  let verdict = limits.check('failures', failuresOf(caller))
  if (verdict.allowed) verdict = limits.count('contract_checks', network)
  if (verdict.allowed) verdict = limits.count('wallet_checks', `${network} ${address}`)
  if (!verdict.allowed) throw tooManyContractChecks(verdict.retryAfter)
  return network
}

/**
 * Counts failures by network, never by address: addresses are public, and a victim could be locked out. The count of a
 * network covers all challenges that it tries. Only failures are counted, after they happen, so a correct signature is
 * not refused because of earlier failures.
 */
async function countFailures<Result>({ limits }: HttpService, caller: Caller, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    // If a check was impossible, the error is not a LoginError, and the caller did not fail.
    if (!(error instanceof LoginError)) throw error
    const verdict = limits.count('failures', failuresOf(caller))
    throw verdict.allowed ? error : tooManyFailures(verdict.retryAfter)
  }
}

/** Keeps why the wallet was refused, for the operators who look for it. */
async function noteRefusal<Result>(
  { refusedSignIns }: HttpService,
  { address }: JsonFields,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    const isRefusal = error instanceof LoginError || error instanceof OAuthError
    if (isRefusal && typeof address === 'string') refusedSignIns?.count({ wallet: address, reason: error.reason })
    throw error
  }
}

function failuresOf({ network }: Caller): string {
  return `${network} login`
}

/** Translates refusals of the framework, which come before a route runs, into the codes of this API. */
function inTheseWords(error: unknown): unknown {
  const status = statusOf(error)
  if (status === 413) return new LoginError('too_large', 'body_too_large')
  return status === 415 ? new LoginError('unsupported_media_type', 'body_not_json') : error
}

function claimOf(fields: JsonFields): WalletClaim {
  const chainId = fields.chain_id
  if (typeof chainId !== 'number' || !Number.isSafeInteger(chainId)) throw new LoginError('invalid_request', 'chain_id_malformed')
  return {
    challenge: text(fields, 'login_challenge'),
    address: text(fields, 'address'),
    chainId,
    // An empty scope means that the user switched off every scope, and must not be read as absent, which means all
    // scopes.
    scope: fields.scope === '' ? '' : optionalText(fields, 'scope'),
    limit: limitOf(fields),
  }
}

/** The numbers of a limit, as texts with the digits that the user typed. */
function limitOf({ limit }: JsonFields): LimitChoice | null {
  if (limit === undefined || limit === null) return null
  if (typeof limit !== 'object' || Array.isArray(limit)) throw new LoginError('invalid_request', 'limit_malformed')
  const members = limit as JsonFields
  const isText = LIMIT_CHOICES.every(
    (name) => typeof members[name] === 'string' || (name !== 'uses' && members[name] === undefined),
  )
  if (!isText) throw new LoginError('invalid_request', 'limit_malformed')
  return limit as LimitChoice
}

function fieldsOf(request: FastifyRequest): JsonFields {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new LoginError('invalid_request', 'body_not_an_object')
  return body as JsonFields
}

function text(fields: JsonFields, name: ParameterName): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw new LoginError('invalid_request', `${name}_missing`)
  return value
}

function optionalText(fields: JsonFields, name: ParameterName): string | null {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new LoginError('invalid_request', `${name}_malformed`)
  return value
}
