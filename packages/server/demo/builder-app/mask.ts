/** Masks messages for the pages: names are shown in full, and of secrets only a few characters. */

export interface Field {
  name: string
  value: string
}

/** Parameters and members whose value gives access, or protects a sign-in. */
const secretNames = new Set(['code', 'code_verifier', 'access_token', 'refresh_token', 'token', 'client_secret', 'state'])

/** Masks a secret value, and shortens the addresses of wallets in any other value. */
export function maskField({ name, value }: Field): Field {
  if (secretNames.has(name)) return { name, value: maskSecret(value) }
  if (name.toLowerCase() === 'authorization') return { name, value: maskCredentials(value) }
  return { name, value: shortenAddresses(value) }
}

/**
 * `eyJhbGci…Zk3w (812 characters)`: a reader can distinguish two tokens, whose beginnings are often the same, and cannot
 * use either. Of a shorter secret, only the length.
 */
export function maskSecret(secret: string): string {
  if (secret.length < 40) return `… (${secret.length} characters)`
  return `${secret.slice(0, 8)}…${secret.slice(-4)} (${secret.length} characters)`
}

/** Shows the scheme in full, and masks the rest. The end of Basic credentials is not shown, because it is the end of the secret. */
function maskCredentials(value: string): string {
  const [scheme = '', credentials = ''] = value.split(' ')
  return scheme === 'Basic' ? `Basic ${credentials.slice(0, 8)}… (id and secret)` : `${scheme} ${maskSecret(credentials)}`
}

/** JSON is indented, and each member is masked. Any other body is cut to 300 characters. */
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

/** `0xf39F…2266`: the owner of the wallet recognises it, and no page or screenshot shows the whole address. */
export function shortenAddresses(text: string): string {
  return text.replace(/0x([0-9a-fA-F]{4})[0-9a-fA-F]{32}([0-9a-fA-F]{4})(?![0-9a-fA-F])/g, '0x$1…$2')
}
