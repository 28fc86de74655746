import { encodeQR } from 'qr'
import { type Html, html } from '../html.ts'
import { encodePng } from '../png.ts'

/**
 * With more characters the modules become too small for a phone's camera on a page of this width. The login challenge
 * of the specification's minimal request makes a link of about 600 characters.
 */
const LONGEST = 1_270
/** Light modules around the code, which scanners need (ISO/IEC 18004 §9.1: four). */
const QUIET_ZONE = 4
/** Of the width of a module, if there is room. */
const PIXELS = 4

/**
 * A text as a QR code: a PNG of one pixel for each module, which the browser enlarges. Null if the text is too long. The code of a
 * sign-in has 1.5 kB as a PNG and 10 kB as an SVG path.
 */
export function qrCode(text: string, label: string): Html | null {
  if (text.length > LONGEST) return null
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: QUIET_ZONE })
  const modules = rows.map((row) => row.map((isDark) => (isDark ? 1 : 0)))
  const size = rows.length * PIXELS
  // Black on white in dark mode too: many scanners do not read the inverse
  const png = encodePng(modules, ['ffffff', '000000'])
  return html`<img class="qr" alt="${label}" width="${size}" height="${size}" src="data:image/png;base64,${png.toString('base64')}">`
}
