/**
 * `application/x-www-form-urlencoded`, byte for byte (WHATWG URL §5.1, RFC 6749 appendix B).
 *
 * `URLSearchParams` turns bytes that are not UTF-8 into U+FFFD, so a `state` could not be returned unchanged. Every
 * value is therefore kept in two forms: the decoded text, and the bytes percent-encoded again.
 */
export type FormValue = {
  /** null if the bytes are not UTF-8 */
  text: string | null
  /**
   * the value's bytes; each byte outside RFC 3986's unreserved set is written as %XX, so the value can be appended to
   * any query
   */
  encoded: string
}

export type Form = ReadonlyMap<string, readonly FormValue[]>

/** Reads a query or a body. Never fails: a stray `%` is taken literally, as browsers do. */
export function parseForm(raw: string | Uint8Array): Form {
  // Node gives a request target as latin1: one character per byte.
  const source = typeof raw === 'string' ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1')
  // Nearly every form is well-formed. The whole form is tried once: a failed attempt throws, which is too slow to
  // repeat for each part.
  const wellFormed = !BEYOND_ASCII.test(source) && (!source.includes('%') || isDecodable(source))
  const form = new Map<string, FormValue[]>()
  for (const pair of source.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), wellFormed)
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1), wellFormed)
    const values = form.get(name.text ?? name.encoded)
    if (values) values.push(value)
    else form.set(name.text ?? name.encoded, [value])
  }
  return form
}

/** The form as text again, with the same bytes after decoding. */
export function serializeForm(form: Form): string {
  const pairs = [...form].flatMap(([name, values]) => values.map(({ encoded }) => `${encodeFormValue(name)}=${encoded}`))
  return pairs.join('&')
}

/** Percent-encodes text as the value of a query parameter. */
export function encodeFormValue(text: string): string {
  return encodeBytes(Buffer.from(text, 'utf8'))
}

/** The part of a request target after its first `?`. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

const BEYOND_ASCII = /[\u0080-\uffff]/
const PLAIN = /^[A-Za-z0-9\-._~]*$/
/** How each byte is written: unreserved bytes as they are, all others as %XX. */
const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  return PLAIN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
})

function decode(part: string, wellFormed: boolean): FormValue {
  if (wellFormed && !part.includes('%') && !part.includes('+')) return new Text(part)
  if (PLAIN.test(part)) return new Text(part)
  const spaced = part.replaceAll('+', ' ')
  if (wellFormed) return new Text(decodeURIComponent(spaced))
  const bytes = Buffer.from(unescapePercent(spaced), 'latin1')
  // Bytes that are not UTF-8 are replaced when they are decoded, so encoding the text gives different bytes.
  const text = bytes.toString('utf8')
  return { text: Buffer.from(text).equals(bytes) ? text : null, encoded: encodeBytes(bytes) }
}

/** A value whose encoded form is computed on demand: most values are read as text only. */
class Text implements FormValue {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get encoded(): string {
    return PLAIN.test(this.text) ? this.text : encodeText(this.text)
  }
}

/** Whether every `%` begins a complete escape, and the escapes are UTF-8. */
function isDecodable(source: string): boolean {
  try {
    decodeURIComponent(source)
    return true
  } catch {
    return false
  }
}

/** The result of `encodeBytes` for the text's bytes. */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => ENCODED[character.charCodeAt(0)] ?? '')
}

function unescapePercent(part: string): string {
  return part.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function encodeBytes(bytes: Uint8Array): string {
  let encoded = ''
  for (const byte of bytes) encoded += ENCODED[byte] ?? ''
  return encoded
}
