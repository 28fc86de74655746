import { deflateSync } from 'node:zlib'
import { encodePngChunk, PNG_SIGNATURE } from '../config/look/png-chunk.ts'

/**
 * A PNG (third edition) from rows of indices into a palette of at most four colours, each six hexadecimal digits. Two colours take one bit
 * for each pixel, three or four take two bits.
 */
export function encodePng(rows: readonly (readonly number[])[], palette: readonly string[]): Buffer {
  const bits = palette.length <= 2 ? 1 : 2
  const width = rows[0]?.length ?? 0
  const scanlines = rows.map((row) => {
    // The first byte is the filter: none (§9.2).
    const line = Buffer.alloc(1 + Math.ceil((width * bits) / 8))
    row.forEach((index, x) => {
      const at = 1 + ((x * bits) >> 3)
      line[at] = (line[at] ?? 0) | (index << (8 - bits - ((x * bits) & 7)))
    })
    return line
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(rows.length, 4)
  header.writeUInt8(bits, 8)
  // Each pixel is a palette index (§11.2.1).
  header.writeUInt8(3, 9)
  return Buffer.concat([
    PNG_SIGNATURE,
    encodePngChunk({ type: 'IHDR', data: header }),
    encodePngChunk({ type: 'PLTE', data: Buffer.from(palette.join(''), 'hex') }),
    encodePngChunk({ type: 'IDAT', data: deflateSync(Buffer.concat(scanlines)) }),
    encodePngChunk({ type: 'IEND', data: Buffer.alloc(0) }),
  ])
}
