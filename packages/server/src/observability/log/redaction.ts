/**
 * Removes secrets from a finished log line, in three independent ways: members with a secret's name, values that look
 * like a secret, and the secrets that this process was configured with. A token in a log would be visible to every
 * reader of the log (OpenID Connect Core §16.4).
 */
const CENSOR = '[redacted]'

// Members of the protocol and of HTTP whose values are never logged, as they appear in JSON.
const SECRET_MEMBERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'password',
  'secret',
  'client_secret',
  'clientSecret',
  'code',
  'code_verifier',
  'token',
  'access_token',
  'refresh_token',
  'subject_token',
  'actor_token',
  'id_token',
  'id_token_hint',
  'logout_token',
  'question',
  'accessToken',
  'refreshToken',
  'login_challenge',
  'login_verifier',
  'confirmation',
  'signature',
  'privateKey',
  'state',
  'nonce',
]
const NAMES = SECRET_MEMBERS.join('|')
const BY_NAME = new RegExp(`"(${NAMES})":(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\][]*\\])`, 'gi')
// The same within a string that contains JSON, and in form bodies.
const BY_NAME_INSIDE = new RegExp(`\\b(${NAMES})(\\\\+":\\s?\\\\+"|=)[^"\\\\&\\s]+`, 'gi')

// An error's own `code`, such as ECONNREFUSED or SQLITE_BUSY, names the failure and is not a secret.
const ERROR_CODE = /^"code":"[A-Z][A-Z0-9_]{0,63}"$/

const CREDENTIALS = /\b(Basic|Bearer|DPoP)\s+[A-Za-z0-9+/=_.~-]{6,}/gi
const JWT = /\beyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)*/g
// Queries and fragments contain codes and states. Each match is tried only up to the next possible start: the time
// stays linear.
const QUERY = /[?#][^\s"\\?#=]*=[^\s"\\]*/g
const HEX = /\b0[xX][0-9a-fA-F]{40,}/g
// 256 bits in base64url have 43 characters; UUIDs have 36 and stay readable.
const LONG = 43
const LONG_RANDOM = /(?<![\w-])[\w-]{43,}/g
/** 1 at the code of each character of `[\w-]`. */
const WORD_CODES = Uint8Array.from({ length: 128 }, (_, code) => (/[\w-]/.test(String.fromCharCode(code)) ? 1 : 0))

/** Makes the function that redacts a line. `secrets` are removed wherever they appear, also within other words. */
export function redactor(secrets: readonly string[] = []): (line: string) => string {
  const spelled = secrets.filter((secret) => secret.length > 0).map((secret) => JSON.stringify(secret).slice(1, -1))
  return (line) => {
    const withoutConfigured = spelled.reduce(
      (text, secret) => (text.includes(secret) ? text.replaceAll(secret, CENSOR) : text),
      line,
    )
    const readable = withoutConfigured
      .replace(BY_NAME, (member, name: string) => (ERROR_CODE.test(member) ? member : `"${name}":"${CENSOR}"`))
      .replace(BY_NAME_INSIDE, `$1$2${CENSOR}`)
      .replace(CREDENTIALS, `$1 ${CENSOR}`)
      .replace(QUERY, `?${CENSOR}`)
      .replace(JWT, CENSOR)
      .replace(HEX, shortenHex)
    return hasLongWord(readable) ? readable.replace(LONG_RANDOM, CENSOR) : readable
  }
}

/**
 * Whether `LONG_RANDOM` matches. Only every 43rd character is compared: if this character is not part of a word, no long word contains it. A request's
 * line then takes 0.1 µs instead of the expression's 1.3 µs, and an audit line 0.35 instead of 2.7 (medians of 200,000 calls).
 */
function hasLongWord(text: string): boolean {
  for (let end = LONG - 1; end < text.length; ) {
    let at = end
    while (at > end - LONG && WORD_CODES[text.charCodeAt(at)] === 1) at--
    if (at === end - LONG) return true
    end = at + LONG
  }
  return false
}

/** An address keeps its ends, so that an operator recognises it; longer values (hashes, signatures, keys) are removed. */
function shortenHex(hex: string): string {
  return hex.length === 42 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : CENSOR
}
