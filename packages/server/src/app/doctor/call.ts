/** One HTTP request of a check: no redirects, a bounded answer, a deadline. */
import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { shorten } from '../../operators/terminal/print.ts'

/** In characters. The OpenAPI document of the admin API, the longest answer that a check reads, has 100,000. */
const BODY_AT_MOST = 500_000
const CALL_MS = 5_000

export type Answered = { status: number; headers: IncomingHttpHeaders; body: string; localPort: number }

/** Rejects with an error whose code names the reason if there is no answer. */
export function call(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? tlsRequest : plainRequest
    const request = send(url, {
      headers: { accept: 'application/json', ...headers },
      agent: false,
      signal: AbortSignal.timeout(CALL_MS),
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let body = ''
      // Read now, because a closed connection has no port.
      const localPort = response.socket.localPort ?? 0
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
        if (body.length > BODY_AT_MOST) request.destroy(new Error('the answer is too long'))
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body, localPort }))
    })
    request.end()
  })
}

/** Why there was no answer: a code such as ECONNREFUSED or CERT_HAS_EXPIRED. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${CALL_MS / 1000} seconds`
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.message
}

/** The JSON object of an answer, or null. */
export function jsonOfCall({ body }: Answered): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** A text of another server, short and without control characters, for a terminal. */
export function printable(text: string): string {
  return shorten(text.replaceAll(/[^\x20-\x7e]/g, '?'), 100)
}
