// @ts-check

/**
 * What the login page asks of the login server.
 *
 * @typedef {{ kind: 'answered', body: any }
 *   | { kind: 'refused', status: number, error: string, retryAfter: number }
 *   | { kind: 'unreachable' }} Answer
 */

/**
 * @param {string} path
 * @param {Record<string, unknown>} body
 * @returns {Promise<Answer>}
 */
export async function post(path, body) {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = await response.json().catch(() => ({}))
    if (response.ok) return { kind: 'answered', body: answer }
    const retryAfter = Number(response.headers.get('retry-after')) || 60
    return { kind: 'refused', status: response.status, error: String(answer.error ?? ''), retryAfter }
  } catch {
    return { kind: 'unreachable' }
  }
}
