import type { FastifyInstance } from 'fastify'
import { noticePage } from './pages/notice-page.ts'

/** Every answer is a page of this app, for this moment, and for nobody's frame. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  // No script at all, no third party; forms go nowhere but here.
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  // The callback's address holds a code: no other site gets to see it.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

/** What every request meets first. `baseUrl` is the app's own address, from its configuration. */
export function guard(app: FastifyInstance, baseUrl: string): void {
  const { host, origin } = new URL(baseUrl)

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    if (request.method === 'POST') {
      // Another site could make a browser send these forms, cookie included (CSRF); `Origin` says who did, and only
      // the browser can write it.
      if (request.headers.origin !== origin) {
        return await reply
          .code(403)
          .send(noticePage('That click came from elsewhere', 'Only a button of this very app may do that. Nothing happened.'))
      }
    } else if (request.headers.host !== host) {
      // 127.0.0.1 and localhost are two sites to a browser, and the cookie of one is unknown to the other.
      return await reply.redirect(`${baseUrl}/`, 302)
    }
  })

  // The forms have no fields: the path says it all, the body is not read.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { bodyLimit: 1_024 }, (_request, payload, done) => {
    payload.resume()
    done(null)
  })
}
