/** Parses each kind of setting: returns the typed value, or the values that are accepted instead. */
import { isIP } from 'node:net'
import { isScopeName } from '@grantor/protocol/scope'

/** `fault` completes the sentence "GRANTOR_X …". Only `shown` repeats the value, and never a secret. */
export type Parsed<T> = { value: T } | { fault: string }
export type Parser<T> = {
  (text: string): Parsed<T>
  /** of a number: what is counted, such as `seconds` */
  unit?: string
}

export type ListenAddress = { host: string; port: number }

/** `localhost`, its subdomains, 127.0.0.0/8 and ::1, as `URL.hostname` spells them. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || /^127(?:\.\d{1,3}){3}$/.test(hostname) || hostname === '[::1]'
  )
}

export const PLAIN_HTTP = 'must use https: plain http is allowed on loopback only (localhost, *.localhost, 127.0.0.0/8, [::1])'

/**
 * A server's origin: scheme, host and port, without a path. Grantor owns its whole origin, because cookies, `Origin`
 * checks and `iss` (RFC 8414 §2, RFC 9207 §2) all refer to origins. Therefore an issuer with a path is not supported
 * (OpenID Connect Core §16.15).
 *
 * This function requires https outside of loopback, and so TLS for every endpoint, page, secret, code and token:
 * RFC 6749 §2.3.1, §3.1, §3.2, §10.3, §10.4, §10.8, §10.9, §10.11, RFC 6750 §5.2, RFC 7009 §2, RFC 7662 §2, §4,
 * RFC 8414 §3, §6.1, RFC 8693 §6, OpenID Connect Core §3.1.2, §3.1.3, §5.3, §16.17.
 */
export const origin: Parser<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  // `*.test` never resolves on the internet (RFC 6761 §6.2). settings.ts refuses it outside of development.
  if (url?.protocol === 'http:' && !isLoopbackHost(url.hostname) && !url.hostname.endsWith('.test')) {
    return { fault: PLAIN_HTTP }
  }
  if (url && text === url.origin && /^https?:$/.test(url.protocol)) return { value: text }
  // The suggestion consists of scheme, host and port, so that it does not repeat a password in the URL.
  const meant = url && /^https?:$/.test(url.protocol) ? `; did you mean ${url.origin}?` : ''
  return { fault: `must be an origin alone, as in https://auth.example.com: no path, trailing slash, query or fragment${meant}` }
}

/** A path can only be checked when its file is read. */
export const file: Parser<string> = (text) => ({ value: text })

/** At least 32 characters. For 256 random bits, `openssl rand -base64 32` gives 44. */
export const secret: Parser<string> = (text) => {
  if (text.length < 32) return { fault: 'is too short: at least 32 characters, as made by: openssl rand -base64 32' }
  if (new Set(text).size === 1) return { fault: 'is one character repeated; make one with: openssl rand -base64 32' }
  return { value: text }
}

export const hostAndPort: Parser<ListenAddress> = (text) => {
  const [, host = '', port = ''] = /^(\[[0-9A-Fa-f:.]+\]|[^\s:[\]/]+):(\d{1,5})$/.exec(text) ?? []
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  if (host === '' || (host.startsWith('[') && isIP(bare) !== 6) || Number(port) < 1 || Number(port) > 65_535) {
    return { fault: `must be host:port, as in 127.0.0.1:4000 or [::1]:4000${shown(text)}` }
  }
  return { value: { host: bare, port: Number(port) } }
}

export function integer(least: number, most: number, unit: string): Parser<number> {
  const parse = (text: string): Parsed<number> => {
    const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return { value }
    return { fault: `must be a whole number of ${unit} from ${least} to ${most}${shown(text)}` }
  }
  return Object.assign(parse, { unit })
}

export function choice<const T extends string>(...words: T[]): Parser<T> {
  return (text) => {
    const value = words.find((word) => word === text)
    return value === undefined ? { fault: `must be one of ${words.join(', ')}${shown(text)}` } : { value }
  }
}

export const onOff: Parser<boolean> = (text) => {
  if (text === 'on' || text === 'off') return { value: text === 'on' }
  return { fault: `must be on or off${shown(text)}` }
}

/** Comma-separated EIP-155 chain ids. */
export const chainIds: Parser<number[]> = (text) => {
  const ids = items(text).map((item) => (/^[1-9]\d{0,14}$/.test(item) ? Number(item) : null))
  if (ids.length === 0 || ids.includes(null))
    return { fault: `must be chain ids separated by commas, as in 1,8453${shown(text)}` }
  return { value: [...new Set(ids.filter((id) => id !== null))] }
}

/** Comma-separated IP addresses and networks in CIDR form. */
export const networks: Parser<string[]> = (text) => {
  const list = items(text)
  const wrong = list.find((item) => !isNetwork(item))
  if (wrong === undefined) return { value: list }
  if (/\/0+$/.test(wrong))
    return {
      fault: `must not hold ${JSON.stringify(wrong)}, which trusts every caller: anyone could then claim any client address`,
    }
  return { fault: `must be IP addresses or networks separated by commas, as in 10.0.0.5,10.1.0.0/16${shown(wrong)}` }
}

/** Comma-separated URI schemes (RFC 3986 §3.1) without a dot. Schemes that a browser or a system runs by itself are refused. */
export const schemes: Parser<string[]> = (text) => {
  const list = items(text)
  const wrong = list.find(
    (item) => !/^[a-z][a-z0-9+-]{2,29}$/.test(item) || /^(?:https?|javascript|data|file|blob|about|ms-.*)$/.test(item),
  )
  return wrong === undefined
    ? { value: list }
    : { fault: `must be the schemes of apps separated by commas, as in cursor,vscode${shown(wrong)}` }
}

/** Comma-separated host names; `*.example.com` stands for every subdomain of example.com. */
export const hostPatterns: Parser<string[]> = (text) => {
  const list = items(text).map((item) => item.toLowerCase())
  const wrong = list.find(
    (item) =>
      !item
        .replace(/^\*\./, '')
        .split('.')
        .every((label) => /^[a-z0-9-]{1,63}$/.test(label)),
  )
  return wrong === undefined
    ? { value: list }
    : { fault: `must be host names separated by commas, as in app.example.com,*.example.net${shown(wrong)}` }
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** An absolute URI without fragment (RFC 8707 §2), with characters that a signed text can contain. */
export const resourceUri: Parser<string> = (text) => {
  const spelled = text.length <= 500 && /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?@!$&()*+,;=]+$/.test(text)
  if (spelled && URL.canParse(text)) return { value: text }
  return {
    fault: `must be an absolute URI without fragment, quotes or percent signs, as in https://api.example.com/${shown(text)}`,
  }
}

/** A JSON object from scope names to the descriptions that users read. */
export const scopeDescriptions: Parser<Record<string, string>> = (text) => {
  const fault = 'must be a JSON object from scope names to words, as in {"profile":"see your profile"}'
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { fault }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { fault }
  const wrong = Object.entries(parsed).find(([name, words]) => !isScopeName(name) || !isDescription(words))
  if (wrong) return { fault: `${fault}; names are [A-Za-z0-9._-]{1,64}, words 1 to 200 characters${shown(wrong[0])}` }
  return { value: parsed as Record<string, string> }
}

function isDescription(words: unknown): boolean {
  return typeof words === 'string' && words.trim() !== '' && words.length <= 200
}

/** The address of another site's page, without a query, because the service adds one. */
export const pageUrl: Parser<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  if (url && isSecure && url.username + url.password + url.search + url.hash === '') return { value: url.href }
  return { fault: 'must be an https URL without user, query and fragment, as in https://keys.example.com/connect' }
}

/** The address of the operator's hook. Its answers are not signed, so plain http is allowed on this machine only. */
export const hookUrl: Parser<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  // The value is not shown, because its query may have a token.
  if (url && isSecure && url.username + url.password + url.hash === '') return { value: url.href }
  return {
    fault: 'must be an https URL without user and fragment, as in https://hook.example.com/grantor; http on this machine only',
  }
}

/** `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks). */
export const standardWebhookSecret: Parser<string> = (text) => {
  const encoded = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(text)?.[1] ?? ''
  const bytes = Buffer.from(encoded, 'base64')
  const isWhole = bytes.toString('base64') === encoded && bytes.length >= 24 && bytes.length <= 64
  if (!isWhole)
    return { fault: 'must be whsec_ and 24 to 64 bytes in base64, as made by: echo "whsec_$(openssl rand -base64 32)"' }
  if (new Set(bytes).size === 1) return { fault: 'is one byte repeated; make one with: echo "whsec_$(openssl rand -base64 32)"' }
  return { value: text }
}

/** A project id of WalletConnect. */
export const projectId: Parser<string> = (text) =>
  /^[0-9a-f]{32}$/.test(text) ? { value: text } : { fault: `must be 32 hexadecimal digits${shown(text)}` }

/** The origin of a WebSocket server, as a content policy names the server. */
export const relayUrl: Parser<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  const isSecure = url?.protocol === 'wss:' || (url?.protocol === 'ws:' && isLoopbackHost(url.hostname))
  // No character that ends a directive of a policy
  if (isSecure && text === url?.origin && /^wss?:\/\/[a-z0-9.:[\]-]+$/.test(text)) return { value: text }
  return { fault: `must be a wss origin alone, as in wss://relay.walletconnect.org${shown(text)}` }
}

/** The address of an OpenTelemetry collector. Plain http is allowed: a collector is usually inside the operator's network. */
export const collectorUrl: Parser<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.search + url.hash === '')
    return { value: text }
  // The value is not shown, because it may have a password.
  return { fault: 'must be an http or https URL without user, query and fragment, as in http://127.0.0.1:4318' }
}

/** Names and percent-encoded values of visible ASCII, as in `a=b,c=d`. The value is the text itself, which is a secret. */
export const headerList: Parser<string> = (text) => {
  const isHeader = (item: string): boolean =>
    /^[A-Za-z0-9-]+=(?:[!-$&-+\-./0-9:<-~]|%(?:[2-6][0-9A-Fa-f]|7[0-9A-Ea-e]))+$/.test(item)
  return items(text).every(isHeader) ? { value: text } : { fault: 'must be names and percent-encoded values, as in a=b,c=d' }
}

export const ratio: Parser<number> = (text) => {
  const value = /^\d(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  return value <= 1 ? { value } : { fault: `must be a number from 0 to 1, as in 0.05${shown(text)}` }
}

export const serviceName: Parser<string> = (text) => {
  return /^[\w.-]{1,64}$/.test(text) ? { value: text } : { fault: `must be letters, digits, dots and dashes${shown(text)}` }
}

function items(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** The faulty value, shortened and quoted, so that it cannot add lines to the message. */
function shown(text: string): string {
  return `, not ${JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text)}`
}
