/**
 * Client ids that are URLs: the address of a metadata document that the client publishes (draft-ietf-oauth-client-id-metadata-document).
 * Such a client is not registered. Only the host of the URL is proved, because only this host can publish the document.
 */
import { type ClientPlace, isLoopbackHost, redirectUriPlace } from './redirect-uri.ts'

/** In characters. Grants, receipts and texts to sign contain the client id. */
const CLIENT_ID_AT_MOST = 300

// Printable ASCII that a text to sign may contain, without `#`, `@`, quotes, percent signs and brackets except those of IPv6.
const URL_CLIENT_ID = /^https?:\/\/[A-Za-z0-9.:[\]-]+\/[A-Za-z0-9\-._~!$&()*+,;=:/?]+$/

/** Whether a client id is a URL and not the id of a registered client. Does not check the rules for the URL. */
export function looksLikeClientIdUrl(clientId: string): boolean {
  return clientId.startsWith('https://') || clientId.startsWith('http://')
}

/**
 * Whether the service accepts the URL as a client id (Client ID Metadata Document §3): https, a path that is not only `/`, no fragment, no user name, no
 * dot segments, and written exactly as a browser would write it, so that one client has one id. A host name in another script is in
 * its ASCII form. Ports other than the default are refused outside loopback: a document must come from the web server of its host.
 * `allowLoopback` accepts http on this machine, for development.
 */
export function isClientIdUrl(clientId: string, { allowLoopback }: { allowLoopback: boolean }): boolean {
  if (clientId.length > CLIENT_ID_AT_MOST || !URL_CLIENT_ID.test(clientId) || !URL.canParse(clientId)) return false
  const url = new URL(clientId)
  if (url.href !== clientId || url.username !== '' || url.password !== '' || url.pathname === '/') return false
  if (isLoopbackHost(url.hostname)) return allowLoopback
  return url.protocol === 'https:' && url.port === '' && isDomainName(url.hostname)
}

/** At least two labels of letters, digits and hyphens, the last of which is not a number: no IP address and no local name. */
function isDomainName(hostname: string): boolean {
  const labels = hostname.split('.')
  return labels.length > 1 && labels.every((label) => /^[a-z0-9-]{1,63}$/.test(label)) && /^[a-z]/.test(labels.at(-1) ?? '')
}

/** Whether a client id is a sealed registration (RFC 7591): `keys/sealed.ts` gives it this prefix. */
export function looksLikeDynamicClientId(clientId: string): boolean {
  return clientId.startsWith('grd.')
}

/** Whether no operator registered the client. */
export function isUnregistered(clientId: string): boolean {
  return looksLikeClientIdUrl(clientId) || looksLikeDynamicClientId(clientId)
}

/** The host, and port if any, of a client id that is a URL; '' for a client that registered itself; null for a client of an operator. */
function clientIdHost(clientId: string): string | null {
  if (looksLikeDynamicClientId(clientId)) return ''
  return looksLikeClientIdUrl(clientId) && URL.canParse(clientId) ? new URL(clientId).host : null
}

/**
 * The destination of a response, and for a client that is not registered the host that publishes its metadata, which pages and texts name
 * before the name of the client (Client ID Metadata Document §8.5).
 */
export function clientPlace(clientId: string, redirectUri: string): ClientPlace {
  const clientPublisher = clientIdHost(clientId)
  return { ...redirectUriPlace(redirectUri), ...(clientPublisher === null ? {} : { clientPublisher }) }
}
