/** The first bytes of pictures of each format, with a size. */

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
