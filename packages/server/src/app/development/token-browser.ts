/** The browser of a test token: sends requests, keeps cookies, and follows no redirect. */
import { type OutgoingHttpHeaders, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'

export type Answer = { status: number; location: string; body: string }

type Sending = { method?: 'GET' | 'POST'; headers?: OutgoingHttpHeaders; body?: string }

/**
 * A browser without cookies. Each request is sent to this address, because a host name such as that of a container may mean nothing in
 * this process, and has `headers`.
 */
export function createBrowser(address: string, headers: OutgoingHttpHeaders) {
  const cookies = new Map<string, string>()

  // Not `fetch`: its `sec-fetch-mode` states that the request is no navigation, and the service refuses such a request for a page.
  return (url: string, { method = 'GET', headers: more = {}, body = '' }: Sending = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const { host, hostname: servername, protocol } = new URL(url)
      const own = { host, ...headers, ...more, ...(cookie === '' ? {} : { cookie }) }
      const sendRequest = protocol === 'https:' ? tlsRequest : plainRequest
      const sent = sendRequest(url, { method, headers: own, hostname: address, servername, agent: false }, (response) => {
        for (const line of response.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          cookies.set(name, value)
        }
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status = 0, headers: answered } = response
          resolve({ status, location: answered.location ?? '', body: Buffer.concat(chunks).toString('utf8') })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
}
