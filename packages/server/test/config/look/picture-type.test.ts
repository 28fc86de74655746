/** The type of a picture, from its bytes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pictureTypeOf } from '../../../src/config/look/picture-type.ts'
import { addressPicture } from '../../../src/pages/address-picture.ts'
import { gif, jpeg, png, webp } from '../../support/pictures.ts'

const samples: [name: string, type: string, of: (width: number, height: number) => Buffer][] = [
  ['a PNG', 'image/png', png],
  ['a GIF', 'image/gif', gif],
  ['a JPEG', 'image/jpeg', jpeg],
  ['a WebP (lossy)', 'image/webp', (...size) => webp('VP8 ', ...size)],
  ['a WebP (lossless)', 'image/webp', (...size) => webp('VP8L', ...size)],
  ['a WebP (extended)', 'image/webp', (...size) => webp('VP8X', ...size)],
]

test.for(samples)('%s is recognised by its bytes, if no side has more than 2,048 pixels', ([, type, of]) => {
  expect(pictureTypeOf(of(1, 2_048))).toBe(type)
  expect(pictureTypeOf(of(2_048, 1))).toBe(type)
  expect(pictureTypeOf(of(2_049, 1))).toBeNull()
  expect(pictureTypeOf(of(1, 2_049))).toBeNull()
})

test('A picture that the service computes is a PNG', () => {
  expect(pictureTypeOf(addressPicture('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'))).toBe('image/png')
})

test('A picture without pixels is refused', () => {
  for (const of of [png, gif, jpeg]) expect([of(0, 9), of(9, 0)].map(pictureTypeOf)).toEqual([null, null])
})

test.for([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ['SVG with a declaration', '<?xml version="1.0"?><svg/>'],
  ['HTML', '<!doctype html><script>alert(1)</script>'],
  ['a PDF', '%PDF-1.7'],
  ['a BMP', 'BM'.padEnd(64, '\0')],
  ['an icon', '\0\0\u0001\0'.padEnd(64, '\0')],
  ['AVIF', '\0\0\0\u001cftypavif'.padEnd(64, '\0')],
  ['HTML after a space before the signature of GIF', ' GIF89a'.padEnd(64, '\0')],
  ['another container of RIFF', 'RIFF\0\0\0\0WAVE'.padEnd(64, '\0')],
  ['a WebP of an unknown kind', 'RIFF\0\0\0\0WEBPVP9X'.padEnd(64, '\0')],
  ['a JPEG whose segments never end', `\xff\xd8${'\xff\xe0\0\u0002'.repeat(1_000)}`],
  ['a JPEG with a segment of no length', `\xff\xd8${'\xff\xe0\0\0'.repeat(20)}`],
  ['nothing', ''],
] as const)('%s is refused', ([, text]) => {
  expect(pictureTypeOf(Buffer.from(text, 'latin1'))).toBeNull()
})

test('Any bytes, and every beginning of a picture, are judged without an error', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void pictureTypeOf(Buffer.from(bytes))))
  for (const [, , of] of samples) {
    const whole = of(64, 64)
    for (let length = 0; length < whole.length; length++) pictureTypeOf(whole.subarray(0, length))
  }
})
