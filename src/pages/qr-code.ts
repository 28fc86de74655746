import { crc32, deflateSync } from 'node:zlib'
import { encodeQR } from 'qr'
import { type Html, html } from './html.ts'

/**
 * With more characters the modules become too small for a phone's camera on a page of this width. The login challenge
 * of the specification's minimal request makes a link of about 600 characters.
 */
const LONGEST = 1_270
/** Light modules around the code, which scanners need (ISO/IEC 18004 §9.1: four). */
const QUIET_ZONE = 4

/**
 * A text as a QR code: a PNG of one pixel for each module, which the stylesheet enlarges. Null if the text is too long. The code of a
 * sign-in has 1.5 kB as a PNG and 10 kB as an SVG path.
 */
export function qrCode(text: string, label: string): Html | null {
  if (text.length > LONGEST) return null
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: QUIET_ZONE })
  // Black on white in dark mode too: many scanners do not read the inverse
  return html`<img class="qr" alt="${label}" src="data:image/png;base64,${pngOf(rows).toString('base64')}">`
}

/** Dark modules in black, light ones in white: one bit for each pixel (PNG, third edition, §11.2.1). */
function pngOf(rows: boolean[][]): Buffer {
  const bytesOfRow = Math.ceil(rows.length / 8)
  const scanlines = rows.map((row) => {
    // The first byte is the filter: none (§9.2).
    const line = Buffer.alloc(1 + bytesOfRow)
    row.forEach((isDark, x) => {
      if (!isDark) line[1 + (x >> 3)] = (line[1 + (x >> 3)] ?? 0) | (0x80 >> (x & 7))
    })
    return line
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(rows.length, 0)
  header.writeUInt32BE(rows.length, 4)
  header.writeUInt8(1, 8)
  const pixels = deflateSync(Buffer.concat(scanlines))
  return Buffer.concat([PNG_SIGNATURE, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** §5.3: length, type, data, and the CRC of type and data. */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
}
