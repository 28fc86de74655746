import { boundAnswer } from './bounded-answer.ts'
import { ResourceError, refuse } from './resource-error.ts'

/** Timeout of one request to the authorization server, in milliseconds. */
const timeoutMs = 5_000

interface IssuerRequest {
  method: string
  headers: Record<string, string>
  body?: URLSearchParams
  /** How long the authorization server may hold the request back, in milliseconds; default 0. */
  heldBackMs?: number
}

export interface IssuerAnswer {
  status: number
  json: Record<string, unknown>
  /** Seconds; absent without a usable `Retry-After`. */
  retryAfter?: number
}

/**
 * Sends one request to the authorization server and reads the JSON object of the response.
 *
 * @throws ResourceError 503 for every response that is not a JSON object with status 200. An API that cannot check a
 * token must neither let the caller in nor report that the token is bad.
 */
export async function askIssuer(ask: typeof fetch, url: URL, request: IssuerRequest): Promise<Record<string, unknown>> {
  return (await readAnswer(ask, url, request, [200])).json
}

/**
 * Sends one request to the authorization server and reads the JSON object of a response with one of `statuses`.
 *
 * @throws ResourceError 503 for every other response
 */
export async function readAnswer(
  ask: typeof fetch,
  url: URL,
  { heldBackMs = 0, ...init }: IssuerRequest,
  statuses: readonly number[],
): Promise<IssuerAnswer> {
  let response: Response
  let json: unknown
  try {
    // A redirect would send the token and the API's credentials to an address that the operator did not configure. `manual`
    // returns the redirect, whose status is not 200. Workers do not have `error`.
    response = await ask(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs + heldBackMs) })
    json = statuses.includes(response.status) ? await boundAnswer(response).json() : await response.body?.cancel()
  } catch (cause) {
    throw refuse.unavailable('issuer_unreachable', { cause })
  }
  const retryAfter = retryAfterOf(response)
  if (!statuses.includes(response.status)) throw refuse.unavailable(`issuer_answered_${response.status}`, retryAfter)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw refuse.unavailable('issuer_answer_malformed')
  return { status: response.status, json: json as Record<string, unknown>, ...retryAfter }
}

/** Sends a request once more if the answer was lost. The authorization server must answer a repeat as the first request. */
export async function sendAgainIfLost(send: () => Promise<IssuerAnswer>): Promise<IssuerAnswer> {
  try {
    return await send()
  } catch (error) {
    if (isLostAnswer(error)) return send()
    throw error
  }
}

function isLostAnswer(error: unknown): boolean {
  return error instanceof ResourceError && /^issuer_(?:unreachable|answer_malformed|answered_5\d\d)$/.test(error.reason)
}

function retryAfterOf({ headers }: Response): { retryAfter?: number } {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= 3_600 ? { retryAfter: seconds } : {}
}
