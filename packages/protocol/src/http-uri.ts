/**
 * Normalises http addresses by RFC 3986 §6.2.2 and §6.2.3 and no further, as RFC 9449 §4.3 requires for comparing
 * `htu`.
 *
 * The class `URL` is not used: it also accepts backslashes, control characters, user names and numbers as parts of a
 * host, so an address that is not ours could be normalised to one of ours.
 */

// Printable ASCII without # % / ? and the backslash. This is slightly more than RFC 3986 allows in a path: browsers
// send some characters, such as `|`, unescaped.
const PART = '[!"$&-.0->@-\\[\\]-~]|%[0-9A-Fa-f]{2}'
const HTTP_URI = new RegExp(
  `^(?<scheme>https?)://(?<host>[A-Za-z0-9\\-._~]+|\\[[0-9A-Fa-f:.]+\\])(?::(?<port>\\d{0,5}))?(?<path>(?:/(?:${PART})*)*)(?:[?#].*)?$`,
  'i',
)
const USUAL_PORT: Record<string, string> = { http: '80', https: '443' }

/** Returns the address without query and fragment, which `htu` does not have, or null if the text is not an http address. */
export function normalizeHttpUri(uri: string): string | null {
  const { scheme = '', host = '', port = '', path = '' } = HTTP_URI.exec(uri)?.groups ?? {}
  if (scheme === '') return null
  const protocol = scheme.toLowerCase()
  const shownPort = port === '' || port === USUAL_PORT[protocol] ? '' : `:${port}`
  return `${protocol}://${host.toLowerCase()}${shownPort}${withoutDots(normalizePercents(path)) || '/'}`
}

/** §6.2.2.1, §6.2.2.2: unreserved characters are unescaped, and the other escapes are written in capitals. */
function normalizePercents(path: string): string {
  return path.replace(/%([0-9A-Fa-f]{2})/g, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase()
  })
}

/** §5.2.4 */
function withoutDots(path: string): string {
  const segments = path.split('/').slice(1)
  const segmentsKept: string[] = []
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1
    if (segment === '..') segmentsKept.pop()
    if (segment !== '.' && segment !== '..') segmentsKept.push(segment)
    else if (last) segmentsKept.push('')
  }
  return segmentsKept.map((segment) => `/${segment}`).join('')
}
