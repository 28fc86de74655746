/**
 * Checks the structure of a WebP (RFC 9649): the sizes of all chunks, their order, and the head of the picture itself. The compressed pixels
 * and the alpha channel are not decoded, so the picture may still be damaged. The result has only the chunks that a picture needs. Colour
 * profiles, places and times in the file (ICCP, EXIF, XMP) are left out.
 */
import type { Size } from './picture-type.ts'
import { readPictureHead } from './picture-type.ts'

type Chunk = { type: string; data: Buffer }
type Cleaned = { bytes: Buffer } | { fault: string }

/** §2.7, VP8X: the flags of the extended file format. */
const ALPHA_FLAG = 0x10
const ANIMATION_FLAG = 0x02
/** RFC 6386 §9.1 */
const KEY_FRAME_START = Buffer.from('9d012a', 'hex')
/** §3.4 */
const LOSSLESS_SIGNATURE = 0x2f

const DAMAGED = { fault: 'is damaged: a chunk of the WebP is cut off, missing or out of order' }

export function cleanWebp(bytes: Buffer): Cleaned {
  const chunks = readChunks(bytes)
  if (chunks === null) return DAMAGED
  const extended = chunks.find(({ type }) => type === 'VP8X')
  if (chunks.some(({ type }) => type.startsWith('ANI') || type === 'ANMF') || ((extended?.data[0] ?? 0) & ANIMATION_FLAG) !== 0)
    return { fault: 'is an animated WebP' }
  const pictures = chunks.filter(({ type }) => type === 'VP8 ' || type === 'VP8L')
  const [picture] = pictures
  if (picture === undefined || pictures.length > 1 || !isPicture(picture)) return DAMAGED
  if (extended === undefined) return chunks[0] === picture ? { bytes: encode([picture]) } : DAMAGED
  // §2.7: the extended header is first, and its size is that of the picture.
  if (chunks[0] !== extended || extended.data.length !== 10 || !isSameSize(bytes, encode([picture]))) return DAMAGED
  const alphas = chunks.filter(({ type }) => type === 'ALPH')
  const [alpha] = alphas
  if (alpha === undefined || picture.type === 'VP8L') return { bytes: encode([picture]) }
  // §2.7.1.2: the alpha channel is before the picture.
  if (alphas.length > 1 || chunks.indexOf(alpha) > chunks.indexOf(picture)) return DAMAGED
  const header = Buffer.from(extended.data)
  header[0] = ALPHA_FLAG
  return { bytes: encode([{ type: 'VP8X', data: header }, alpha, picture]) }
}

/** §2.3, §2.4. A chunk of an odd length is followed by one byte, which is 0. */
function readChunks(bytes: Buffer): Chunk[] | null {
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return null
  const chunks: Chunk[] = []
  for (let at = 12; at < bytes.length; ) {
    if (at + 8 > bytes.length) return null
    const length = bytes.readUInt32LE(at + 4)
    const end = at + 8 + length
    if (end + (length % 2) > bytes.length || (length % 2 === 1 && bytes[end] !== 0)) return null
    chunks.push({ type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, end) })
    at = end + (length % 2)
  }
  return chunks
}

/** RFC 6386 §9.1: a key frame whose first partition is inside of the chunk; RFC 9649 §3.4: the signature, and version 0. */
function isPicture({ type, data }: Chunk): boolean {
  if (data.length < 10) return false
  if (type === 'VP8L') return data[0] === LOSSLESS_SIGNATURE && data.readUInt8(4) >> 5 === 0
  const tag = data.readUIntLE(0, 3)
  return (tag & 1) === 0 && data.subarray(3, 6).equals(KEY_FRAME_START) && 10 + (tag >> 5) <= data.length
}

function isSameSize(extended: Buffer, simple: Buffer): boolean {
  const [one, other]: (Size | null)[] = [readPictureHead(extended), readPictureHead(simple)]
  return one?.width === other?.width && one?.height === other?.height
}

function encode(chunks: readonly Chunk[]): Buffer {
  const parts = chunks.map(({ type, data }) => {
    const frame = Buffer.alloc(8)
    frame.write(type, 'latin1')
    frame.writeUInt32LE(data.length, 4)
    return Buffer.concat([frame, data, Buffer.alloc(data.length % 2)])
  })
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...parts])
  const head = Buffer.alloc(8)
  head.write('RIFF', 'latin1')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}
