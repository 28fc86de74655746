/** Pictures: the first bytes of each format with a size, and real PNGs of any size for tests of logos. */
import { deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { encodePngChunk, PNG_SIGNATURE } from '../../src/config/look/png-chunk.ts'

export function png(width = 64, height = 64): Buffer {
  const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(48)])
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

export function gif(width = 64, height = 64): Buffer {
  const bytes = Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(32)])
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  return bytes
}

/** An APP0 segment, fill bytes, and a baseline frame header. */
export function jpeg(width = 64, height = 64): Buffer {
  const app0 = Buffer.concat([Buffer.from('ffe00010', 'hex'), Buffer.from('JFIF\0'), Buffer.alloc(9)])
  const frame = Buffer.from('ffffc0001108000000000301', 'hex')
  frame.writeUInt16BE(height, 6)
  frame.writeUInt16BE(width, 8)
  return Buffer.concat([Buffer.from('ffd8', 'hex'), app0, frame, Buffer.alloc(16)])
}

export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width = 64, height = 64): Buffer {
  const bytes = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP'), Buffer.from(kind), Buffer.alloc(48)])
  if (kind === 'VP8 ') {
    bytes.writeUInt16LE(width, 26)
    bytes.writeUInt16LE(height, 28)
  } else if (kind === 'VP8L') {
    bytes.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21)
  } else {
    bytes.writeUIntLE(width - 1, 24, 3)
    bytes.writeUIntLE(height - 1, 27, 3)
  }
  return bytes
}

type PngOptions = {
  width?: number
  height?: number
  /** red, green, blue, alpha */
  color?: readonly [number, number, number, number]
  /** chunks after the header */
  more?: { type: string; data: Buffer }[]
}

/** A PNG of one colour with a frame, in RGBA. */
export function pngLogo({ width = 64, height = 64, color = [20, 60, 160, 255], more = [] }: PngOptions = {}): Buffer {
  const lines = Array.from({ length: height }, (_, y) => {
    const line = Buffer.alloc(1 + width * 4)
    for (let x = 0; x < width; x += 1) {
      const isFrame = Math.min(x, y, width - 1 - x, height - 1 - y) < Math.min(width, height) / 8
      Buffer.from(isFrame ? [255, 255, 255, 255] : color).copy(line, 1 + x * 4)
    }
    return line
  })
  return assemblePng({ header: pngHeader({ width, height }), more, pixels: deflateSync(Buffer.concat(lines)) })
}

export function pngHeader({ width = 64, height = 64, depth = 8, colorType = 6, interlace = 0 }): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colorType, 0, 0, interlace], 8)
  return header
}

export function assemblePng(parts: { header: Buffer; more?: { type: string; data: Buffer }[]; pixels: Buffer }): Buffer {
  const { header, more = [], pixels } = parts
  const chunks = [
    { type: 'IHDR', data: header },
    ...more,
    { type: 'IDAT', data: pixels },
    { type: 'IEND', data: Buffer.alloc(0) },
  ]
  return Buffer.concat([PNG_SIGNATURE, ...chunks.map(encodePngChunk)])
}

/** The pixels that a browser draws for a picture, or null if the browser cannot decode the picture. */
export function pixelsOf(page: Page, bytes: Buffer): Promise<string | null> {
  return page.evaluate(
    async (url) => {
      const image = new Image()
      image.src = url
      const isDecoded = await image.decode().then(
        () => true,
        () => false,
      )
      if (!isDecoded) return null
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
      const context = canvas.getContext('2d')
      context?.drawImage(image, 0, 0)
      return context?.getImageData(0, 0, image.width, image.height).data.join(' ') ?? null
    },
    `data:image/png;base64,${bytes.toString('base64')}`,
  )
}
