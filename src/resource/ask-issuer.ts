import type { Refusals } from './resource-error.ts'

/** How long one question to the authorization server may take, in milliseconds. */
const patience = 5_000

/**
 * Sends one request to the authorization server and reads its JSON object.
 *
 * @throws ResourceError 503 for whatever is not a JSON object with status 200: an API that cannot ask must neither let
 * the caller in nor tell it that its token is bad.
 */
export async function askIssuer(
  ask: typeof fetch,
  url: URL,
  init: { method: string; headers: Record<string, string>; body?: URLSearchParams },
  refuse: Refusals,
): Promise<Record<string, unknown>> {
  let response: Response
  let answer: unknown
  try {
    // A redirect would carry the token and our own credentials to an address nobody configured.
    response = await ask(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(patience) })
    answer = response.status === 200 ? await response.json() : await response.body?.cancel()
  } catch (cause) {
    throw refuse.unavailable('issuer_unreachable', { cause })
  }
  if (response.status !== 200) {
    const asked = Number(response.headers.get('retry-after') ?? Number.NaN)
    const retryAfter = Number.isInteger(asked) && asked >= 0 && asked <= 3_600 ? { retryAfter: asked } : {}
    throw refuse.unavailable(`issuer_answered_${response.status}`, retryAfter)
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw refuse.unavailable('issuer_answer_malformed')
  return answer as Record<string, unknown>
}
