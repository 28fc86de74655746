import { refuse } from './resource-error.ts'

/** Timeout of one request to the authorization server, in milliseconds. */
const timeoutMs = 5_000

/**
 * Sends one request to the authorization server and reads the JSON object of its response.
 *
 * @throws ResourceError 503 for every response that is not a JSON object with status 200. An API that cannot check a
 * token must neither let the caller in nor report that the token is bad.
 */
export async function askIssuer(
  ask: typeof fetch,
  url: URL,
  init: { method: string; headers: Record<string, string>; body?: URLSearchParams },
): Promise<Record<string, unknown>> {
  let response: Response
  let answer: unknown
  try {
    // A redirect would send the token and the API's credentials to an address that the operator did not configure. `manual`
    // returns the redirect, whose status is not 200. Workers do not have `error`.
    response = await ask(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    answer = response.status === 200 ? await response.json() : await response.body?.cancel()
  } catch (cause) {
    throw refuse.unavailable('issuer_unreachable', { cause })
  }
  if (response.status !== 200) {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    const retryAfter = Number.isInteger(seconds) && seconds >= 0 && seconds <= 3_600 ? { retryAfter: seconds } : {}
    throw refuse.unavailable(`issuer_answered_${response.status}`, retryAfter)
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw refuse.unavailable('issuer_answer_malformed')
  return answer as Record<string, unknown>
}
