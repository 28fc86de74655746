/**
 * Checks every byte of a PNG (third edition): the CRC of each chunk, the order of the chunks, and the pixels. The result has only the chunks
 * that a picture needs. Texts, places and times in the file (tEXt, eXIf, tIME) are left out.
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
  const kept = chunks.filter(({ type }) => KEPT.includes(type))
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
  const line = 1 + Math.ceil((header.readUInt32BE(0) * depth * samples) / 8)
  return isInflatedTo(dataOf('IDAT'), { line, height: header.readUInt32BE(4) })
    ? null
    : 'is damaged: the pixels of the PNG do not fill the picture'
}

function isInflatedTo(deflated: Buffer, { line, height }: { line: number; height: number }): boolean {
  try {
    const scanlines = inflateSync(deflated, { maxOutputLength: line * height })
    if (scanlines.length !== line * height) return false
    for (let at = 0; at < scanlines.length; at += line) if (scanlines.readUInt8(at) > LAST_FILTER) return false
    return true
  } catch {
    return false
  }
}
