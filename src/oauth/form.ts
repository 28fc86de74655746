/**
 * `application/x-www-form-urlencoded`, byte for byte (WHATWG URL §5.1, RFC 6749 appendix B).
 *
 * `URLSearchParams` turns bytes that are not UTF-8 into U+FFFD, and then a `state` cannot go back as it came.
 * So every value is kept in two spellings: the text it stands for, and its bytes percent-encoded anew.
 */
export type FormValue = {
  /** null where the bytes are not UTF-8 */
  text: string | null
  /** the value's bytes, each outside RFC 3986's unreserved set as %XX: safe to append to any query */
  encoded: string
}

export type Form = ReadonlyMap<string, readonly FormValue[]>

/** Reads a query or a body. Never fails: a stray `%` stands for itself, as browsers read it. */
export function parseForm(raw: string | Uint8Array): Form {
  // Node gives a request target as latin1: one character, one byte.
  const source = typeof raw === 'string' ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1')
  // Nearly every form is well-formed. The whole is tried once: a failed attempt throws, which is too costly for each part.
  const wellFormed = !BEYOND_ASCII.test(source) && isDecodable(source)
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

/** The same form as text again, byte for byte what it means. */
export function serializeForm(form: Form): string {
  const pairs = [...form].flatMap(([name, values]) => values.map(({ encoded }) => `${encodeFormValue(name)}=${encoded}`))
  return pairs.join('&')
}

/** Percent-encodes text as the value of a query parameter. */
export function encodeFormValue(text: string): string {
  return encodeBytes(Buffer.from(text, 'utf8'))
}

/** The part of a request target behind its first `?`. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

const BEYOND_ASCII = /[\u0080-\uffff]/
const PLAIN = /^[A-Za-z0-9\-._~]*$/
/** Each byte as it is written: itself where it is unreserved, else %XX. */
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
  // Bytes that are not UTF-8 are replaced when they are read, and so become other bytes when the text is written.
  const text = bytes.toString('utf8')
  return { text: Buffer.from(text).equals(bytes) ? text : null, encoded: encodeBytes(bytes) }
}

/** A value whose second spelling is made when somebody asks for it: most are read as text alone. */
class Text implements FormValue {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get encoded(): string {
    return PLAIN.test(this.text) ? this.text : encodeText(this.text)
  }
}

/** Whether each `%` begins a whole escape, and the escapes are UTF-8. */
function isDecodable(source: string): boolean {
  try {
    decodeURIComponent(source)
    return true
  } catch {
    return false
  }
}

/** What `encodeBytes` makes of the text's bytes. */
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
