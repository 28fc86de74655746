/** The URIs of a client that the service calls: `jwks_uri`, `backchannel_logout_uri` (OpenID Connect Back-Channel Logout §2.2). */

/** Why the URI cannot be registered; null for a valid URI. The IP address of the host is checked at every call. */
export function calledUriFault(uri: string): string | null {
  if (uri.length > 500 || !/^https?:\/\/[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri))
    return 'is not an https URI of at most 500 characters.'
  const { protocol, hostname, username, password } = new URL(uri)
  if (username !== '' || password !== '') return 'has a user name in it.'
  if (uri.includes('#')) return 'has a fragment (#…).'
  if (protocol === 'http:' && !/^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    return 'is plain http outside loopback; use https.'
  return null
}
