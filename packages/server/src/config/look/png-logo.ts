/**
 * Checks every byte of a PNG (third edition): the CRC of each chunk, the order and the lengths of the chunks, and the pixels. The result has
 * only the chunks that a picture needs. Texts, places and times in the file (tEXt, eXIf, tIME) are left out, and no other chunk has room for
 * them.
 */
import { inflateSync } from 'node:zlib'
import { encodePngChunk, PNG_SIGNATURE, type PngChunk, readPngChunks } from './png-chunk.ts'

const KEPT = ['IHDR', 'PLTE', 'tRNS', 'sRGB', 'gAMA', 'IDAT', 'IEND']

/** The bit depths of each colour type, and its samples for each pixel (§11.2.1). */
const COLOR_TYPES: Readonly<Record<number, { depths: readonly number[]; samples: number }>> = {
  0: { depths: [1, 2, 4, 8, 16], samples: 1 },
  2: { depths: [8, 16], samples: 3 },
  3: { depths: [1, 2, 4, 8], samples: 1 },
  4: { depths: [8, 16], samples: 2 },
  6: { depths: [8, 16], samples: 4 },
}
const INDEXED = 3
/** The bytes of the one transparent colour (§11.3.1.1). A palette has one byte for each of its colours. */
const TRANSPARENCY: Readonly<Record<number, number>> = { 0: 2, 2: 6 }
/** §9.2: None, Sub, Up, Average, Paeth */
const LAST_FILTER = 4

type Cleaned = { bytes: Buffer } | { fault: string }

export function cleanPng(bytes: Buffer): Cleaned {
  const chunks = readPngChunks(bytes)
  if (chunks === null) return { fault: 'is damaged: a chunk of the PNG is cut off or has a wrong checksum' }
  const types = chunks.map(({ type }) => type)
  if (types.includes('acTL')) return { fault: 'is an animated PNG' }
  if (!isInOrder(types)) return { fault: 'is damaged: the chunks of the PNG are not in their order' }
  const fault = pixelsFault(chunks)
  if (fault !== null) return { fault }
  // Other pictures may have a palette too, as a suggestion (§11.2.2).
  const isIndexed = chunks[0]?.data[9] === INDEXED
  const kept = chunks.filter(({ type }) => KEPT.includes(type) && (type !== 'PLTE' || isIndexed))
  return { bytes: Buffer.concat([PNG_SIGNATURE, ...kept.map(encodePngChunk)]) }
}

/** §5.6. Chunks that are not critical begin with a small letter (§5.4), and may be of any number and at any place. */
function isInOrder(types: readonly string[]): boolean {
  const critical = types.filter((type) => /^[A-Z]/.test(type))
  return /^IHDR (?:PLTE )?(?:IDAT )+IEND$/.test(critical.join(' ')) && types[0] === 'IHDR' && types.at(-1) === 'IEND'
}

function pixelsFault(chunks: readonly PngChunk[]): string | null {
  const dataOf = (type: string): Buffer => Buffer.concat(chunks.filter((each) => each.type === type).map(({ data }) => data))
  const header = dataOf('IHDR')
  if (header.length !== 13) return 'is damaged: the header of the PNG has a wrong length'
  const [depth = 0, colorType = 0, compression, filter, interlace] = header.subarray(8)
  if (interlace === 1) return 'is an interlaced PNG; save it without interlacing'
  const { depths, samples } = COLOR_TYPES[colorType] ?? { depths: [], samples: 0 }
  if (!depths.includes(depth) || compression !== 0 || filter !== 0 || interlace !== 0)
    return 'is damaged: the header of the PNG has values that do not exist'
  const palette = dataOf('PLTE').length / 3
  const hasPalette = palette > 0
  if (!Number.isInteger(palette) || palette > 256 || (colorType === INDEXED && !hasPalette))
    return 'is damaged: the palette of the PNG is missing or has a wrong length'
  const longest = { sRGB: 1, gAMA: 4, tRNS: colorType === INDEXED ? palette : (TRANSPARENCY[colorType] ?? 0), IEND: 0 }
  // Two chunks of one type have more bytes together.
  const wrong = Object.entries(longest).find(([type, length]) => dataOf(type).length > length)
  if (wrong) return `is damaged: the length of ${wrong[0]} in the PNG is wrong`
  const line = 1 + Math.ceil((header.readUInt32BE(0) * depth * samples) / 8)
  return isInflatedTo(dataOf('IDAT'), { line, height: header.readUInt32BE(4) })
    ? null
    : 'is damaged: the pixels of the PNG do not fill the picture'
}

function isInflatedTo(deflated: Buffer, { line, height }: { line: number; height: number }): boolean {
  try {
    const { buffer: scanlines, engine } = inflateWithInfo(deflated, line * height)
    // Bytes behind the compressed pixels are not read by any decoder.
    if (scanlines.length !== line * height || engine.bytesWritten !== deflated.length) return false
    for (let at = 0; at < scanlines.length; at += line) if (scanlines.readUInt8(at) > LAST_FILTER) return false
    return true
  } catch {
    return false
  }
}

/** `bytesWritten`: the bytes of `deflated` that were inflated. The types of Node.js lack the result with `info`. */
function inflateWithInfo(deflated: Buffer, maxOutputLength: number): { buffer: Buffer; engine: { bytesWritten: number } } {
  return inflateSync(deflated, { maxOutputLength, info: true }) as unknown as ReturnType<typeof inflateWithInfo>
}
