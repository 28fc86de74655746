import { Refusal } from './refusal.ts'

/** Asks the auth service: GET without fields, POST with. Returns what it answers with 200; all else is thrown as a Refusal. */
export type Ask = (path: string, fields?: Record<string, unknown>) => Promise<unknown>

// A contract wallet's signature is checked on its chain, for which the auth service may take some seconds.
const TIMEOUT_MS = 20_000

export function connectAuthService(authUrl: string, loginSecret: string): Ask {
  // RFC 6749 §2.3.1: form-urlencoded before Base64, because a secret may hold `+` and `/`
  const credentials = Buffer.from(`login-server:${encodeURIComponent(loginSecret)}`).toString('base64')
  const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' }

  return async function ask(path, fields) {
    let response: Response
    let answer: unknown
    try {
      response = await fetch(new URL(path, authUrl), {
        ...(fields ? { method: 'POST', body: JSON.stringify(fields) } : {}),
        headers,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      answer = await response.json()
    } catch (cause) {
      throw unavailable(cause)
    }
    if (response.status === 200) return answer
    const { error, error_description: description } = (answer ?? {}) as Record<string, unknown>
    // `invalid_client` speaks of our own secret: the operator's business, and nothing that a person can mend
    if (typeof error !== 'string' || typeof description !== 'string' || error === 'invalid_client')
      throw unavailable(new Error(`the auth service answered ${response.status} ${String(error)}`))
    throw new Refusal(response.status, error, description, response.headers.get('retry-after'))
  }
}

/** No answer is never "wrong signature", and never a login. */
function unavailable(cause: unknown): Refusal {
  return new Refusal(503, 'temporarily_unavailable', 'Sign-in does not answer right now. Try again in a moment.', '5', cause)
}
