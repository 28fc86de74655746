/**
 * A picture that is computed from an address, so that users can tell two accounts apart at a glance. The picture proves nothing: an
 * attacker can search for an address with a similar picture.
 */
import { createHash } from 'node:crypto'
import { encodePng } from './png.ts'

/** Cells of a row; the right half mirrors the left half. */
const CELLS = 8
/** Pixels of a cell: a picture of 192 × 192 pixels, about 200 bytes. */
const CELL = 24
const CELL_OF_PIXEL = Array.from({ length: CELLS * CELL }, (_, pixel) => Math.floor(pixel / CELL))

/** The same PNG for every spelling of an address. */
export function addressPicture(address: string): Buffer {
  const digest = createHash('sha256').update(`picture ${address.toLowerCase()}`).digest()
  const cells = Array.from({ length: CELLS }, (_, y) => pictureRow(digest.readUInt8(y)))
  const pixels = CELL_OF_PIXEL.map((y) => cells[y] ?? [])
  return encodePng(pixels, paletteOf(digest.subarray(CELLS)))
}

/** The colours of a row of pixels. Half of the cells have the background, a quarter each of the two other colours. */
function pictureRow(bits: number): number[] {
  const cells = Array.from({ length: CELLS }, (_, x) => Math.max(0, ((bits >> (2 * Math.min(x, CELLS - 1 - x))) & 3) - 1))
  return CELL_OF_PIXEL.map((x) => cells[x] ?? 0)
}

/** A light background and two darker colours, each with a hue of its own. */
function paletteOf(digest: Buffer): string[] {
  const hue = (at: number): number => (digest.readUInt16BE(at) * 360) / 65_536
  return [rgb(hue(0), 0.5, 0.9), rgb(hue(2), 0.65, 0.45), rgb(hue(4), 0.7, 0.3)]
}

/** CSS Color 4 §7.1: a colour of the HSL model as six hexadecimal digits. */
function rgb(hue: number, saturation: number, lightness: number): string {
  const channel = (n: number): number => {
    const k = (n + hue / 30) % 12
    return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))
  }
  return [0, 8, 4]
    .map((n) =>
      Math.round(channel(n) * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')
}
