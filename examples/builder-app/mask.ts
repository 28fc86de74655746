/** What a person may see of a message: names and shapes in full, secrets by their first characters only. */

export interface Field {
  name: string
  value: string
}

/** Parameters and members that work for whoever holds them. */
const secretNames = new Set(['code', 'code_verifier', 'access_token', 'refresh_token', 'token', 'client_secret', 'state'])

/** Shown the way it may be shown: tokens and codes by their first characters, wallet addresses by both ends. */
export function maskField({ name, value }: Field): Field {
  if (secretNames.has(name)) return { name, value: maskSecret(value) }
  if (name.toLowerCase() === 'authorization') return { name, value: maskCredentials(value) }
  return { name, value: shortenAddresses(value) }
}

/**
 * `eyJhbGci…Zk3w (812 characters)`: enough to tell two tokens apart, whose beginnings are often the same, and not enough
 * to use one.
 */
export function maskSecret(secret: string): string {
  if (secret.length < 40) return `… (${secret.length} characters)`
  return `${secret.slice(0, 8)}…${secret.slice(-4)} (${secret.length} characters)`
}

/** The scheme in full, what follows it masked; of Basic no end, because that is the end of the secret itself. */
function maskCredentials(value: string): string {
  const [scheme = '', credentials = ''] = value.split(' ')
  return scheme === 'Basic' ? `Basic ${credentials.slice(0, 8)}… (id and secret)` : `${scheme} ${maskSecret(credentials)}`
}

/** A body as it may be shown: JSON indented and masked member by member, anything else cut short. */
export function maskBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body, maskMember), undefined, 2)
  } catch {
    return shortenAddresses(body.length > 300 ? `${body.slice(0, 300)}…` : body)
  }
}

function maskMember(name: string, value: unknown): unknown {
  return typeof value === 'string' ? maskField({ name, value }).value : value
}

/** `0xf39F…2266`: a wallet's owner recognises it, and no page or screenshot gives the whole address away. */
export function shortenAddresses(text: string): string {
  return text.replace(/0x([0-9a-fA-F]{4})[0-9a-fA-F]{32}([0-9a-fA-F]{4})(?![0-9a-fA-F])/g, '0x$1…$2')
}
