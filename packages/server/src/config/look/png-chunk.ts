/** The chunks of a PNG (third edition, §5.3): length, type, data, and the CRC of type and data. */
import { crc32 } from 'node:zlib'

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** The bytes of a chunk in addition to its data. */
const FRAME = 12

export type PngChunk = { type: string; data: Buffer }

export function encodePngChunk({ type, data }: PngChunk): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
}

/** Null if the chunks do not fill the file exactly, or if a CRC is wrong. */
export function readPngChunks(bytes: Buffer): PngChunk[] | null {
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return null
  const chunks: PngChunk[] = []
  for (let at = PNG_SIGNATURE.length; at < bytes.length; ) {
    if (at + FRAME > bytes.length) return null
    const end = at + FRAME + bytes.readUInt32BE(at)
    if (end > bytes.length || crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) return null
    chunks.push({ type: bytes.toString('latin1', at + 4, at + 8), data: bytes.subarray(at + 8, end - 4) })
    at = end
  }
  return chunks
}
