import { isAmount } from '@grantor/protocol/limit'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import type { CrossDevice, LoginPurpose, LoginRequest } from '../../pages/login-request.ts'
import type { NamedUri, Scope } from '../../pages/parts.ts'
import { encodeFormValue } from '../../protocol/oauth/form.ts'
import { isUiLocale } from '../../protocol/oauth/ui-locales.ts'
import type { LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import type { OutageLog } from '../outage-log.ts'
import { invalidRequest, Refusal, unavailable } from './refusal.ts'

/**
 * The API of the auth service that the login server uses: four endpoints over HTTP with JSON.
 *
 * A refusal of the auth service is thrown with its status, code and text. If no valid response arrives within five
 * seconds, the result is 503: never a login, and never "wrong signature".
 */
export type AuthService = {
  readChallenge(loginChallenge: string): Promise<LoginRequest>
  composeMessage(login: WalletLogin): Promise<{ message: string }>
  accept(login: WalletLogin & { signature: string }): Promise<MoveOn>
  /** A login without a signature, only for the development login. */
  vouch(login: WalletLogin): Promise<MoveOn>
  reject(login: { loginChallenge: string; clientIp: string }): Promise<MoveOn>
}

export type WalletLogin = {
  loginChallenge: string
  address: string
  chainId: number | undefined
  scope: string | undefined
  /** The numbers of the limit; absent for those of the request. */
  limit?: LimitChoice | undefined
  /** The user's address, for which failures are counted. The auth service trusts it because this server authenticates. */
  clientIp: string
}

export type MoveOn = { status: string; redirectTo: string }

export type AuthServiceOptions = {
  /** The address of the auth service for this server; may be internal. */
  url: string
  secret: string
  /** Reports a problem to the operator; never contains anything that a user sent. */
  report: (problem: string, detail: Record<string, unknown>) => void
  /** Counts the calls that get no response, in place of a line for each. */
  outage: OutageLog
  /** Gives each call a span, and continues the trace at the auth service. */
  tracing?: Pick<Tracing, 'trace' | 'outgoingHeaders'> | undefined
}

/** Enough for the check of a contract wallet's signature, whose chain may take two seconds to respond. */
const TIMEOUT_MS = 5_000

export function connectAuthService(options: AuthServiceOptions): AuthService {
  const { ask, read } = callingAuthService(options)
  return {
    async readChallenge(loginChallenge) {
      const query = `login_challenge=${encodeFormValue(loginChallenge)}`
      return read(await ask('GET', `/login/challenge?${query}`), asLoginRequest)
    },
    async composeMessage(login) {
      return read(await ask('POST', '/login/message', onTheWire(login)), asMessage)
    },
    async accept(login) {
      return read(await ask('POST', '/login/accept', { ...onTheWire(login), signature: login.signature }), asMoveOn)
    },
    async vouch(login) {
      return read(await ask('POST', '/login/accept', onTheWire(login)), asMoveOn)
    },
    async reject({ loginChallenge, clientIp }) {
      return read(await ask('POST', '/login/reject', { login_challenge: loginChallenge, client_ip: clientIp }), asMoveOn)
    },
  }
}

type ServiceCall = {
  method: string
  path: string
  body: Record<string, unknown> | undefined
  headers: Record<string, string>
}

/** `ask` calls an endpoint and returns its JSON object; `read` checks the shape of that object. Both throw refusals. */
function callingAuthService({ url, secret, report, outage, tracing }: AuthServiceOptions) {
  const base = url.replace(/\/$/, '')
  // RFC 6749 §2.3.1: both parts are form-urlencoded before Base64
  const authorization = `Basic ${Buffer.from(`login-server:${encodeFormValue(secret)}`).toString('base64')}`
  return { ask, read }

  function ask(method: string, path: string, body?: Record<string, unknown>): Promise<Record<string, unknown>> {
    if (!tracing) return call({ method, path, body, headers: {} })
    // Without the query, which has the login challenge.
    const [route = ''] = path.split('?')
    return tracing.trace(`auth service ${method} ${route}`, { 'http.request.method': method }, () =>
      call({ method, path, body, headers: tracing.outgoingHeaders() }),
    )
  }

  async function call({ method, path, body, headers }: ServiceCall): Promise<Record<string, unknown>> {
    let status: number
    let retryAfter: number
    let answer: unknown
    try {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: { ...headers, authorization, accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      status = response.status
      retryAfter = Number(response.headers.get('retry-after'))
      answer = await response.json()
      outage.works()
    } catch (error) {
      outage.failed({ problem: 'auth_service_unreachable', cause: causeOf(error) })
      throw unavailable()
    }
    if (!isRecord(answer)) return nonsense({ status })
    if (status === 200) return answer
    throw asRefusal(status, answer, retryAfter)
  }

  function asRefusal(status: number, answer: Record<string, unknown>, retryAfter: number): Refusal {
    const { error, error_description: description } = answer
    // The login secret is wrong. Only the operator can correct it, so the user sees "unavailable".
    if (error === 'invalid_client') {
      report('login_secret_refused', { hint: 'GRANTOR_LOGIN_SECRET is not the same at the auth service' })
      return unavailable()
    }
    if (typeof error !== 'string' || status < 400 || status > 599) return nonsense({ status })
    return new Refusal(status, error, typeof description === 'string' ? description : '', retryAfter > 0 ? retryAfter : undefined)
  }

  function read<T>(answer: Record<string, unknown>, as: (answer: Record<string, unknown>) => T | null): T {
    return as(answer) ?? nonsense({ status: 200 })
  }

  function nonsense(detail: Record<string, unknown>): never {
    report('auth_service_not_understood', { ...detail, hint: 'is GRANTOR_AUTH_URL the auth service?' })
    throw unavailable()
  }
}

function onTheWire(login: WalletLogin): Record<string, unknown> {
  const { loginChallenge, address, chainId, scope, limit, clientIp } = login
  // The auth service reads an empty scope as absent, which means all scopes: the opposite of the user's choice.
  if (scope === '') throw invalidRequest('scope is empty: at least one must stay.')
  return { login_challenge: loginChallenge, address, chain_id: chainId, scope, limit, client_ip: clientIp }
}

function asLoginRequest(answer: Record<string, unknown>): LoginRequest | null {
  const { client_name: clientName, client_host: clientHost, scopes, chain_ids: chainIds, expires_at: expiresAt } = answer
  const { purpose, may_choose_scopes: mayChooseScopes, resources, until, resume_url: resume } = answer
  if (typeof clientName !== 'string' || typeof clientHost !== 'string') return null
  if (!isPurpose(purpose) || typeof mayChooseScopes !== 'boolean') return null
  if (!isWholeNumber(expiresAt) || !isWholeNumber(until)) return null
  if (!Array.isArray(scopes) || !scopes.every(isScope)) return null
  if (!Array.isArray(resources) || !resources.every((resource) => typeof resource === 'string')) return null
  if (!Array.isArray(chainIds) || chainIds.length === 0 || !chainIds.every(isWholeNumber)) return null
  if (resume !== null && !isWebAddress(resume)) return null
  if (answer.limit !== undefined && !isLimit(answer.limit)) return null
  // Only a login that an app began can continue on another device.
  const resumeUrl = purpose === 'account' || purpose === 'end_everything' ? null : resume
  const hasCode = purpose === 'device' || purpose === 'cross_device'
  const userCode = hasCode && isUserCode(answer.user_code) ? answer.user_code : undefined
  const clientScheme = isScheme(answer.client_scheme) ? answer.client_scheme : undefined
  const loginHint = isAddress(answer.login_hint) ? answer.login_hint : undefined
  const homeChainId = isWholeNumber(answer.home_chain_id) ? answer.home_chain_id : undefined
  const clientPublisher = typeof answer.client_publisher === 'string' ? answer.client_publisher : undefined
  const place = { clientHost, clientScheme, clientPublisher }
  return {
    purpose,
    clientName,
    clientLogo: isWebAddress(answer.client_logo_uri) ? answer.client_logo_uri : undefined,
    ...place,
    scopes,
    mayChooseScopes,
    resources,
    limit: answer.limit,
    until,
    chainIds,
    homeChainId,
    expiresAt,
    resumeUrl,
    loginHint,
    uiLocale: isUiLocale(answer.ui_locale) ? answer.ui_locale : undefined,
    userCode,
    approval: asApproval(answer.approval),
    crossDevice: asCrossDevice(answer.cross_device),
  }
}

/** Absent for every other purpose. */
function asApproval(approval: unknown): LoginRequest['approval'] {
  if (!isRecord(approval)) return undefined
  const { summary, api } = approval
  return typeof summary === 'string' && typeof api === 'string' ? { summary, api } : undefined
}

/** Absent if the auth service does not offer cross-device logins. */
function asCrossDevice(offer: unknown): CrossDevice | undefined {
  if (!isRecord(offer)) return undefined
  const { url, code, continue_url: continueUrl, signed } = offer
  return isWebAddress(url) && isUserCode(code) && isWebAddress(continueUrl)
    ? { url, code, continueUrl, signed: signed === true }
    : undefined
}

function asMessage({ message }: Record<string, unknown>): { message: string } | null {
  return typeof message === 'string' ? { message } : null
}

function asMoveOn({ status, redirect_to: redirectTo }: Record<string, unknown>): MoveOn | null {
  return typeof status === 'string' && typeof redirectTo === 'string' ? { status, redirectTo } : null
}

function isScope(scope: unknown): scope is Scope {
  if (!isRecord(scope) || typeof scope.name !== 'string' || typeof scope.description !== 'string') return false
  if (scope.resources !== undefined && !(Array.isArray(scope.resources) && scope.resources.every(isPlace))) return false
  return scope.required === undefined || typeof scope.required === 'boolean'
}

function isLimit(limit: unknown): limit is NonNullable<LoginRequest['limit']> {
  if (!isRecord(limit) || typeof limit.scope !== 'string' || !isAmount(limit.uses)) return false
  const { unit, decimals, amount, each } = limit
  const hasAmounts = typeof unit === 'string' && isWholeNumber(decimals) && isAmount(amount) && isAmount(each)
  const hasNone = [unit, decimals, amount, each].every((member) => member === undefined)
  return (hasAmounts || hasNone) && (limit.per === undefined || limit.per === 'day' || limit.per === 'week')
}

function isPlace(place: unknown): place is NamedUri {
  return isRecord(place) && typeof place.uri === 'string' && typeof place.name === 'string'
}

/** RFC 3986 §3.1 */
function isScheme(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z][A-Za-z0-9+.-]*$/.test(text)
}

function isAddress(text: unknown): text is string {
  return typeof text === 'string' && /^0x[0-9a-fA-F]{40}$/.test(text)
}

function isUserCode(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Z]{4}-[A-Z]{4}$/.test(text)
}

function isPurpose(purpose: unknown): purpose is LoginPurpose {
  return (
    purpose === 'app' ||
    purpose === 'device' ||
    purpose === 'cross_device' ||
    purpose === 'approval' ||
    purpose === 'account' ||
    purpose === 'end_everything'
  )
}

/** The URL becomes a link and a QR code, so only web addresses are accepted. */
function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url)
}

function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `ECONNREFUSED`, `TimeoutError`: a code or a class name, never a message that could repeat what was sent. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  return isRecord(cause) && typeof cause.code === 'string' ? cause.code : error.name
}
