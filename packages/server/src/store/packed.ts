/**
 * Packed texts: the form in which ids, hashes and addresses are stored, on both engines. A UUID takes 16 bytes in place of 36, an address 25 in place of
 * 42, and a SHA-256 in base64url 32 in place of 43. Any other text, such as the URL of a client, is stored as its UTF-8 bytes. `unpack` returns
 * exactly the text that was packed. A packed UUID and a packed hash sort as their bytes do.
 *
 * The address keeps the case of its digits in five bytes: computing the EIP-55 form from the 20 bytes takes 7 µs, for each refresh.
 *
 * Digits are read and written by tables. Regular expressions and the hexadecimal form of `Buffer` take three times as long: 0.97 in place of 0.27 µs to
 * pack a UUID, and 1.10 in place of 0.41 µs to unpack an address (Node.js 24, two busy cores of an AMD EPYC, 2026-11-28).
 */

const ADDRESS_BYTES = 20
const BYTES_OF = { uuid: 16, address: 25, hash: 32 } as const
const LENGTHS: readonly number[] = Object.values(BYTES_OF)
/** The last character has four bits, and no others. */
const HASH = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

/** Set in the value of a digit that is a capital letter. */
const CAPITAL = 16
/** The value of each hexadecimal digit, by its character code; -1 for other characters. */
const DIGITS = Int8Array.from({ length: 128 }, (_, code) => {
  const digit = String.fromCharCode(code)
  const isCapital = digit !== digit.toLowerCase()
  return /^[0-9a-fA-F]$/.test(digit) ? Number.parseInt(digit, 16) + (isCapital ? CAPITAL : 0) : -1
})
/** The two digits of each byte: in small letters, then with the first, with the second, and with both as capital letters. */
const PAIRS = [0, 1, 2, 3].flatMap((capitals) =>
  Array.from({ length: 256 }, (_, byte) => {
    const [first = '', second = ''] = byte.toString(16).padStart(2, '0')
    return (capitals & 1 ? first.toUpperCase() : first) + (capitals & 2 ? second.toUpperCase() : second)
  }),
)
/** The places of the bytes in a UUID. */
const UUID_PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** Before every packed text, and after every packed text, in the order of the bytes. */
export const LEAST = new Uint8Array(0)
export const GREATEST = new Uint8Array(BYTES_OF.hash + 1).fill(0xff)

export function pack(text: string): Buffer {
  switch (text.length) {
    case 36:
      return packUuid(text) ?? packText(text)
    case 42:
      return packAddress(text) ?? packText(text)
    case 43:
      return HASH.test(text) ? Buffer.from(text, 'base64url') : packText(text)
    default:
      return packText(text)
  }
}

export const packNullable = (text: string | null): Buffer | null => (text === null ? null : pack(text))

export function unpack(packed: Uint8Array): string {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  switch (bytes.length) {
    case BYTES_OF.uuid:
      return uuidOf(bytes.toString('hex'))
    case BYTES_OF.address:
      return unpackAddress(bytes)
    case BYTES_OF.hash:
      return bytes.toString('base64url')
    default:
      return bytes.toString('utf8', 1 + (bytes[0] ?? 0))
  }
}

export const unpackNullable = (packed: Uint8Array | null): string | null => (packed === null ? null : unpack(packed))

/**
 * As `unpack`, from the hexadecimal digits of the packed text, in capital letters. SQLite returns the digits of a column in a third of the time of its
 * bytes (0.35 and 1.0 µs).
 */
export function unpackHex(digits: string): string {
  return digits.length === 2 * BYTES_OF.uuid ? uuidOf(digits.toLowerCase()) : unpack(Buffer.from(digits, 'hex'))
}

/** `hex` of SQLite returns an empty text for NULL. */
export const unpackHexNullable = (digits: string): string | null => (digits === '' ? null : unpackHex(digits))

/**
 * A packed address is the 20 bytes, and one bit for each of the 40 digits, which is set if the digit is a capital letter. null if the text is no
 * address.
 */
function packAddress(text: string): Buffer | null {
  if (!text.startsWith('0x')) return null
  const bytes = Buffer.alloc(BYTES_OF.address)
  for (let byte = 0; byte < ADDRESS_BYTES; byte++) {
    const [first, second] = [digitAt(text, 2 + 2 * byte), digitAt(text, 3 + 2 * byte)]
    if ((first | second) < 0) return null
    bytes[byte] = (first << 4) | (second & ~CAPITAL)
    const capitals = (first & CAPITAL) / 16 + (second & CAPITAL) / 8
    ;(bytes[ADDRESS_BYTES + (byte >> 2)] as number) |= capitals << (2 * (byte & 3))
  }
  return bytes
}

function unpackAddress(bytes: Buffer): string {
  let text = '0x'
  for (let byte = 0; byte < ADDRESS_BYTES; byte++) {
    const capitals = ((bytes[ADDRESS_BYTES + (byte >> 2)] as number) >> (2 * (byte & 3))) & 3
    text += PAIRS[256 * capitals + (bytes[byte] as number)]
  }
  return text
}

/** null if the text is no UUID. */
function packUuid(text: string): Buffer | null {
  if (text[8] !== '-' || text[13] !== '-' || text[18] !== '-' || text[23] !== '-') return null
  const bytes = Buffer.allocUnsafe(BYTES_OF.uuid)
  for (let byte = 0; byte < BYTES_OF.uuid; byte++) {
    const place = UUID_PLACES[byte] as number
    const [first, second] = [digitAt(text, place), digitAt(text, place + 1)]
    // Also a capital letter.
    if ((first | second) & ~0xf) return null
    bytes[byte] = (first << 4) | second
  }
  return bytes
}

const digitAt = (text: string, place: number): number => DIGITS[text.charCodeAt(place)] ?? -1

const uuidOf = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/** The first byte is the number of bytes without meaning that follow, so that no text has the length of another form. */
function packText(text: string): Buffer {
  const bytes = Buffer.from(text)
  const isAmbiguous = LENGTHS.includes(bytes.length + 1)
  return Buffer.concat([Buffer.from(isAmbiguous ? [1, 0] : [0]), bytes])
}
