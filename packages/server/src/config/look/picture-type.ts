/**
 * The type of a picture, from its first bytes. The type that a server states for its response proves nothing.
 *
 * Only four formats are accepted. None of them can contain a script, as SVG can.
 */

export type PictureType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** Pixels of a side. A few bytes can describe a picture that takes gigabytes of memory in a browser. */
const SIDE_AT_MOST = 2_048

export type Size = { width: number; height: number }

/** Null if the bytes do not begin as one of the formats, or if the picture is too large. */
export function pictureTypeOf(bytes: Buffer): PictureType | null {
  const head = readPictureHead(bytes)
  return head && isAccepted(head) ? head.type : null
}

/** The type and the size of any picture of these formats, from its first bytes. */
export function readPictureHead(bytes: Buffer): (Size & { type: PictureType }) | null {
  for (const [type, sizeOf] of Object.entries(formats)) {
    const size = sizeOf(bytes)
    if (size) return { type: type as PictureType, ...size }
  }
  return null
}

function isAccepted({ width, height }: Size): boolean {
  return Math.min(width, height) > 0 && Math.max(width, height) <= SIDE_AT_MOST
}

/** Each returns the size of a picture of its format, and null for anything else. */
const formats: Readonly<Record<PictureType, (bytes: Buffer) => Size | null>> = {
  // PNG, third edition, §5.2 and §11.2.1: the first chunk is IHDR.
  'image/png': (bytes) => {
    if (
      bytes.length < 24 ||
      bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n' ||
      bytes.toString('latin1', 12, 16) !== 'IHDR'
    )
      return null
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  },
  'image/jpeg': sizeOfJpeg,
  // GIF89a §17, §18
  'image/gif': (bytes) => {
    if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return null
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  },
  'image/webp': sizeOfWebp,
}

/** ITU-T T.81 §B.1.1: segments follow each other until the frame header, which has the size. */
function sizeOfJpeg(bytes: Buffer): Size | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes.readUInt8(at + 1)
    // §B.1.1.2: any marker may be preceded by fill bytes.
    if (marker === 0xff) at += 1
    else if (isFrameHeader(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    else at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** Table B.1: SOF0 to SOF15, without DHT, JPG and DAC. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

/** RFC 9649 §2.5, §2.6, §2.7, §3.4 */
function sizeOfWebp(bytes: Buffer): Size | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}
