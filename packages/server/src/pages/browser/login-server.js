/** @import { Answer } from './types.d.ts' */

/** Calls the login server. @param {string} path @param {object} [body] posted as JSON @returns {Promise<Answer>} */
export async function ask(path, body) {
  const { lang } = document.documentElement
  const headers = { 'content-type': 'application/json', accept: 'application/json', 'accept-language': lang }
  try {
    const response = await fetch(path, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
    const answer = await response.json().catch(() => ({}))
    if (response.ok) return { kind: 'answered', body: answer }
    const retryAfter = Number(response.headers.get('retry-after')) || 60
    return { kind: 'refused', status: response.status, error: String(answer.error ?? ''), retryAfter }
  } catch {
    return { kind: 'unreachable' }
  }
}
