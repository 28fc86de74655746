/**
 * Packed texts: the form in which ids, hashes and addresses are stored, on both engines. A UUID takes 16 bytes in place of 36, an address 25 in place of
 * 42, and a SHA-256 in base64url 32 in place of 43. Any other text, such as the URL of a client, is stored as its UTF-8 bytes. `unpack` returns
 * exactly the text that was packed. A packed UUID and a packed hash sort as their bytes do.
 *
 * The address keeps the case of its digits in five bytes: computing the EIP-55 form from the 20 bytes takes 7 µs, for each refresh.
 */

const BYTES_OF = { uuid: 16, address: 25, hash: 32 } as const
const LENGTHS: readonly number[] = Object.values(BYTES_OF)
const [CAPITAL_A, SMALL_A] = [0x41, 0x61]
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ADDRESS = /^0x[0-9A-Fa-f]{40}$/
const HASH = /^[A-Za-z0-9_-]{43}$/

/** Before every packed text, and after every packed text, in the order of the bytes. */
export const LEAST = new Uint8Array(0)
export const GREATEST = new Uint8Array(BYTES_OF.hash + 1).fill(0xff)

export function pack(text: string): Buffer {
  switch (text.length) {
    case 36:
      if (UUID.test(text)) return packUuid(text)
      break
    case 42:
      if (ADDRESS.test(text)) return packAddress(text)
      break
    case 43: {
      const bytes = Buffer.from(text, 'base64url')
      // The last character may have bits that the bytes lack.
      if (HASH.test(text) && bytes.toString('base64url') === text) return bytes
    }
  }
  return packText(text)
}

export const packNullable = (text: string | null): Buffer | null => (text === null ? null : pack(text))

export function unpack(packed: Uint8Array): string {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  switch (bytes.length) {
    case BYTES_OF.uuid:
      return unpackUuid(bytes)
    case BYTES_OF.address:
      return unpackAddress(bytes)
    case BYTES_OF.hash:
      return bytes.toString('base64url')
    default:
      return bytes.toString('utf8', 1 + (bytes[0] ?? 0))
  }
}

export const unpackNullable = (packed: Uint8Array | null): string | null => (packed === null ? null : unpack(packed))

/** A packed address is the 20 bytes, and one bit for each of the 40 digits, which is set if the digit is a capital letter. */
function packAddress(text: string): Buffer {
  const bytes = Buffer.alloc(BYTES_OF.address)
  bytes.write(text.slice(2), 'hex')
  for (let place = 0; place < 5; place++) {
    let capitals = 0
    for (let digit = 0; digit < 8; digit++) {
      const code = text.charCodeAt(2 + 8 * place + digit)
      if (code >= CAPITAL_A && code < SMALL_A) capitals |= 1 << digit
    }
    bytes[20 + place] = capitals
  }
  return bytes
}

function unpackAddress(bytes: Buffer): string {
  const digits = bytes.toString('hex', 0, 20)
  const capitals = digits.toUpperCase()
  let text = '0x'
  for (let digit = 0; digit < 40; digit++) {
    const isCapital = (bytes.readUInt8(20 + (digit >> 3)) >> (digit & 7)) & 1
    text += (isCapital ? capitals : digits)[digit]
  }
  return text
}

function packUuid(text: string): Buffer {
  const parts = text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24)
  return Buffer.from(parts, 'hex')
}

function unpackUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The first byte is the number of bytes without meaning that follow, so that no text has the length of another form. */
function packText(text: string): Buffer {
  const bytes = Buffer.from(text)
  const isAmbiguous = LENGTHS.includes(bytes.length + 1)
  return Buffer.concat([Buffer.from(isAmbiguous ? [1, 0] : [0]), bytes])
}
