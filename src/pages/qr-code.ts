import { encodeQR } from 'qr'
import { type Html, html } from './html.ts'

/**
 * With more characters the modules become too small for a phone's camera on a page of this width. The login challenge
 * of the specification's minimal request makes a link of about 600 characters.
 */
const LONGEST = 1_270
/** Light modules around the code, which scanners need (ISO/IEC 18004 §9.1: four). */
const QUIET_ZONE = 4

/** A text as a QR code, drawn as one path of horizontal strokes; null if the text is too long. */
export function qrCode(text: string, label: string): Html | null {
  if (text.length > LONGEST) return null
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: QUIET_ZONE })
  const size = rows.length
  // Black on white in dark mode too: many scanners do not read the inverse
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path stroke="#000" d="${rows.map(strokes)}"/></svg>`
}

/** The dark runs of one row, each relative to the end of the run before. */
function strokes(row: boolean[], y: number): string {
  let path = ''
  let pen = 0
  for (let from = row.indexOf(true); from >= 0; from = row.indexOf(true, pen)) {
    const end = row.indexOf(false, from)
    path += path === '' ? `M${from} ${y}.5h${end - from}` : `m${from - pen} 0h${end - from}`
    pen = end
  }
  return path
}
