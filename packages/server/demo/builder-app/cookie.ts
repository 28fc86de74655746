const name = 'demo_app_session'

/** The session id in a Cookie header (RFC 6265 §4.2). All ports of a host share their cookies, so the name is unique to this app. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split('; ') ?? []) {
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1)
  }
  return undefined
}

/**
 * The cookie of a session. Scripts cannot read it (HttpOnly). Forms of other sites do not send it, but the redirect from
 * the authorization service does (SameSite=Lax). If the app uses https, the cookie is sent over https only.
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
