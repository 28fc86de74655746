import type { FastifyInstance } from 'fastify'
import { noticePage } from './pages/notice-page.ts'

/** The headers of every response. No cache may keep a page, and no site may frame it. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  // No script may run, nothing of another site may load, and forms are sent to this app only.
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  // The address of the callback contains a code, which no other site may receive.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

/** Adds the checks that run before every route. `baseUrl`: the app's own address, from its configuration. */
export function guard(app: FastifyInstance, baseUrl: string): void {
  const { host, origin } = new URL(baseUrl)

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    if (request.method === 'POST') {
      // A page of another site could make a browser send these forms with the cookie (CSRF). The browser sets `Origin`,
      // and no page can change it.
      if (request.headers.origin !== origin) {
        return await reply
          .code(403)
          .send(noticePage('That click came from another site', 'Only a button of this app may do that. Nothing was changed.'))
      }
    } else if (request.headers.host !== host) {
      // 127.0.0.1 and localhost are two hosts to a browser: it does not send the cookie of one to the other.
      return await reply.redirect(`${baseUrl}/`, 302)
    }
  })

  // The forms have no fields, so the body is not read.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { bodyLimit: 1_024 }, (_request, payload, done) => {
    payload.resume()
    done(null)
  })
}
