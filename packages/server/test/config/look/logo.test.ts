/** The check of a logo, byte for byte. */
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLATFORM_LOGO, readLogo } from '../../../src/config/look/logo.ts'
import { encodePngChunk } from '../../../src/config/look/png-chunk.ts'
import { launchBrowser } from '../../support/browser.ts'
import { assemblePng, gif, jpeg, pixelsOf, pngHeader, pngLogo, webp } from '../../support/pictures.ts'

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await launchBrowser()
  page = await browser.newPage()
})
afterAll(() => browser.close())

function logoOf(bytes: Buffer) {
  const read = readLogo(bytes, PLATFORM_LOGO)
  if ('fault' in read) throw new Error(read.fault)
  return read.logo
}
function faultOf(bytes: Buffer): string {
  const read = readLogo(bytes, PLATFORM_LOGO)
  return 'fault' in read ? read.fault : ''
}

test('A PNG keeps its pixels, and loses its texts, places and times', async () => {
  const secret = Buffer.from('GPS 52.5 13.40 ')
  const given = pngLogo({
    width: 200,
    height: 40,
    more: ['tEXt', 'eXIf', 'tIME', 'PLTE'].map((type) => ({ type, data: secret })),
  })
  const logo = logoOf(given)
  expect(logo).toMatchObject({ width: 200, height: 40 })
  expect(logo.bytes.includes(secret)).toBe(false)
  expect(await pixelsOf(page, logo.bytes)).toBe(await pixelsOf(page, given))
})

test('The check of a logo that was checked before changes nothing', () => {
  const { bytes, hash } = logoOf(pngLogo())
  expect(logoOf(bytes)).toMatchObject({ bytes, hash })
})

const pixels = deflateSync(Buffer.alloc(64 * (1 + 64 * 4)))
const TEXT = Buffer.from('GPS 52.5 13.4')
const SRGB = { type: 'sRGB', data: Buffer.from([0]) }

test('A PNG keeps its colour space, its gamma, and the transparency of its palette', () => {
  const gamma = { type: 'gAMA', data: Buffer.from([0, 0, 0xb1, 0x8f]) }
  const palette = { type: 'PLTE', data: Buffer.from([255, 255, 255, 11, 42, 111]) }
  const transparency = { type: 'tRNS', data: Buffer.from([0, 255]) }
  const given = assemblePng({
    header: pngHeader({ colorType: 3 }),
    more: [SRGB, gamma, palette, transparency],
    pixels: deflateSync(Buffer.alloc(64 * (1 + 64))),
  })
  expect(logoOf(given).bytes.equals(given)).toBe(true)
})

test.each([
  ['a text', Buffer.from('not a picture'), 'not a PNG'],
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), 'not a PNG'],
  ['a GIF', gif(), 'not a PNG'],
  ['a JPEG', jpeg(), 'not a PNG'],
  ['a WebP', webp('VP8 '), 'not a PNG'],
  ['an empty file', Buffer.alloc(0), 'not a PNG'],
  ['a side of 15 pixels', pngLogo({ width: 15 }), '15 × 64 pixels'],
  ['a side of 1,025 pixels', pngLogo({ width: 1025 }), '1025 × 64 pixels'],
  ['65,537 bytes', Buffer.concat([pngLogo(), Buffer.alloc(65_536)]), 'a logo has at most 65536'],
  ['bytes after the end', Buffer.concat([pngLogo(), Buffer.from('<script>')]), 'damaged'],
  ['an animation', pngLogo({ more: [{ type: 'acTL', data: Buffer.alloc(8) }] }), 'animated'],
  ['an unknown critical chunk', pngLogo({ more: [{ type: 'ABCD', data: Buffer.alloc(8) }] }), 'damaged'],
  ['interlacing', assemblePng({ header: pngHeader({ interlace: 1 }), pixels }), 'interlaced'],
  ['a bit depth that does not exist', assemblePng({ header: pngHeader({ depth: 3 }), pixels }), 'damaged'],
  ['indexed pixels without a palette', assemblePng({ header: pngHeader({ colorType: 3 }), pixels }), 'palette'],
  ['too few pixels', assemblePng({ header: pngHeader({ height: 65 }), pixels }), 'do not fill'],
  ['too many pixels', assemblePng({ header: pngHeader({ height: 63 }), pixels }), 'do not fill'],
  ['pixels that cannot be inflated', assemblePng({ header: pngHeader({}), pixels: Buffer.from('pixels') }), 'do not fill'],
  ['a text behind the pixels', assemblePng({ header: pngHeader({}), pixels: Buffer.concat([pixels, TEXT]) }), 'do not fill'],
  ['a text in place of the transparency', pngLogo({ more: [{ type: 'tRNS', data: TEXT }] }), 'length of tRNS'],
  ['a text in place of the gamma', pngLogo({ more: [{ type: 'gAMA', data: TEXT }] }), 'length of gAMA'],
  ['a text in place of the colour space', pngLogo({ more: [{ type: 'sRGB', data: TEXT }] }), 'length of sRGB'],
  [
    'a text in the last chunk',
    Buffer.concat([pngLogo().subarray(0, -12), encodePngChunk({ type: 'IEND', data: TEXT })]),
    'length of IEND',
  ],
  ['two colour spaces', pngLogo({ more: [SRGB, SRGB] }), 'length of sRGB'],
  ['an unknown filter', assemblePng({ header: pngHeader({}), pixels: deflateSync(Buffer.alloc(64 * 257, 5)) }), 'do not fill'],
])('A file that is no logo is refused with its fault: %s', (_, bytes, fault) => {
  expect(faultOf(bytes)).toContain(fault)
})

test('A PNG in which one byte was changed is refused', () => {
  const given = pngLogo()
  fc.assert(
    fc.property(fc.nat(given.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(given)
      changed.writeUInt8(changed.readUInt8(at) ^ change, at)
      expect(faultOf(changed)).not.toBe('')
    }),
  )
})

test('A PNG that was cut off is refused', () => {
  const given = pngLogo()
  fc.assert(fc.property(fc.nat(given.length - 1), (length) => faultOf(given.subarray(0, length)) !== ''))
})
