/**
 * Cookies that only this server sets and reads.
 *
 * The prefix `__Host-` (RFC 6265bis §4.1.3.2) prevents sibling hosts from setting these cookies. The prefix requires https, so plain-http
 * loopback has no prefix. SameSite=Lax: browsers send the cookies with a navigation from another site, and never with a form post of
 * another site.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

/** `origin`: that of the server. */
export type Cookie = { origin: string; name: string }

const isSecure = ({ origin }: Cookie): boolean => origin.startsWith('https:')
const nameOf = (cookie: Cookie): string => `${isSecure(cookie) ? '__Host-' : ''}${cookie.name}`

/** An empty value with zero seconds removes the cookie. */
export function setCookie(reply: FastifyReply, cookie: Cookie, { value, seconds }: { value: string; seconds: number }): void {
  const secure = isSecure(cookie) ? '; Secure' : ''
  void reply.header('set-cookie', `${nameOf(cookie)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`)
}

/** Further cookies are ignored; browsers keep fewer cookies for one site. */
const COOKIES_AT_MOST = 200

/** The first cookie of that name: browsers send the most specific cookie first. Null if there is none. */
export function readCookie({ headers }: FastifyRequest, cookie: Cookie): string | null {
  const name = nameOf(cookie)
  for (const pair of (headers.cookie ?? '').split(';', COOKIES_AT_MOST)) {
    const [key, value = ''] = pair.trim().split('=', 2)
    if (key === name) return value
  }
  return null
}
