import { Refusal } from './refusal.ts'

/**
 * Sends one request to the auth service: POST with `fields` as JSON, GET without. Returns the JSON of a response with status 200.
 *
 * @throws Refusal for any other response, and if there is no response
 */
export type CallAuthService = (path: string, fields?: Record<string, unknown>) => Promise<unknown>

// The auth service may need some seconds for the signature of a contract wallet, which is checked on a chain.
const TIMEOUT_MS = 20_000

export function connectAuthService(authUrl: string, loginSecret: string): CallAuthService {
  // RFC 6749 §2.3.1: form-urlencoded before Base64, because a secret may contain `+` and `/`
  const credentials = Buffer.from(`login-server:${encodeURIComponent(loginSecret)}`).toString('base64')
  const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' }

  return async function callAuthService(path, fields) {
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
    // `invalid_client`: the login secret is wrong. Only the operator can correct it, so the user sees "unavailable".
    if (typeof error !== 'string' || typeof description !== 'string' || error === 'invalid_client')
      throw unavailable(new Error(`the auth service answered ${response.status} ${String(error)}`))
    throw new Refusal(response.status, error, description, response.headers.get('retry-after'))
  }
}

/** Without a response the signature is neither right nor wrong: the user must try again. */
function unavailable(cause: unknown): Refusal {
  return new Refusal(503, 'temporarily_unavailable', 'Sign-in does not answer right now. Try again in a moment.', '5', cause)
}
