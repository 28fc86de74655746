const name = 'demo_app_session'

/** The session id of a Cookie header (RFC 6265 §4.2). Cookies are shared by all ports of a host, hence a name of our own. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split('; ') ?? []) {
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1)
  }
  return undefined
}

/**
 * Not for scripts (HttpOnly), not for other sites' forms (SameSite=Lax), though sent along when the authorization
 * service sends the browser back; over https only, where the app has https.
 */
export function sessionCookie(id: string, baseUrl: string): string {
  return `${name}=${id}; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200${secure(baseUrl)}`
}

export function endedSessionCookie(baseUrl: string): string {
  return `${name}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0${secure(baseUrl)}`
}

function secure(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '; Secure' : ''
}
