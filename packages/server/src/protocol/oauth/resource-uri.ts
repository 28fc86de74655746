/** Resource indicators (RFC 8707 §2): "an absolute URI", which "MUST NOT include a fragment component". */
export function isResourceUri(text: string): boolean {
  return (
    text.length <= 500 &&
    /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?@!$&()*+,;=]|%[0-9A-Fa-f]{2})+$/.test(text) &&
    URL.canParse(text)
  )
}

/** Whether a signed text can contain the resource: no quotes and no percent signs, which sign-in parsers refuse. */
export function isSignableResourceUri(text: string): boolean {
  return isResourceUri(text) && !text.includes('%')
}
