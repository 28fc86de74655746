/** The places of an app that a text can name: the host or the scheme of its redirect URI, and the host that publishes its metadata. */

/**
 * The host as a browser that follows the URI reads it; the scheme if a scheme names the app (RFC 8252 §7.1); '' if
 * there is neither.
 */
export function hostOf(uri: string): string {
  return privateUseScheme(uri) ?? (URL.canParse(uri) ? new URL(uri).host : '')
}

/** The scheme of a URI that opens an app on the device (RFC 8252 §7.1); null for a web address. */
export function privateUseScheme(uri: string): string | null {
  return /^https?:/i.test(uri) ? null : uri.slice(0, uri.indexOf(':'))
}

/** Whether the URI leads to a program on the device of the browser. */
export function isOnThisDevice(uri: string): boolean {
  return URL.canParse(uri) && /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(uri).hostname)
}

/**
 * The host that publishes the metadata of an app that no operator registered; empty if the app registered itself; null for an app of an
 * operator.
 */
export function publisherOf(clientId: string): string | null {
  return isUrl(clientId) && URL.canParse(clientId) ? new URL(clientId).host : null
}

function isUrl(clientId: string): boolean {
  return /^(?:https?|ni):\/\//.test(clientId)
}
