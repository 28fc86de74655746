/** The check of a logo that an operator chose. */
import { createHash } from 'node:crypto'
import { readPictureHead, type Size } from './picture-type.ts'
import { cleanPng } from './png-logo.ts'

/** `hash`: SHA-256 of the bytes, in hexadecimal digits. It is the address of the logo, so that browsers can keep the logo for ever. */
export type Logo = Size & { bytes: Buffer; hash: string }

/** The bounds of a logo: bytes, and pixels of a side. */
export type LogoBounds = { bytes: number; side: number }

/** The logo of the platform, from a file on the server. */
export const PLATFORM_LOGO: LogoBounds = { bytes: 65_536, side: 1024 }

/** The logo of a client, from the admin API. As a data URI, it fits into the body of a request. */
export const CLIENT_LOGO: LogoBounds = { bytes: 32_768, side: 512 }

/** In characters: the longest data URI of such a logo. */
const URI_START = 'data:image/png;base64,'
export const CLIENT_LOGO_URI_AT_MOST = URI_START.length + Math.ceil(CLIENT_LOGO.bytes / 3) * 4

/** Fewer pixels cannot be recognised. */
const SIDE_AT_LEAST = 16

/**
 * The logo without what a picture does not need, or a fault that completes the sentence "The picture …".
 *
 * Only PNG: its pixels are inflated and checked, and chunks that a picture does not need are removed. An SVG can have scripts and can load other
 * pictures.
 */
export function readLogo(given: Buffer, bounds: LogoBounds): { logo: Logo } | { fault: string } {
  const head = readPictureHead(given)
  if (head?.type !== 'image/png') return { fault: 'is not a PNG' }
  if (given.length > bounds.bytes) return { fault: `has ${given.length} bytes; a logo has at most ${bounds.bytes}` }
  const { width, height } = head
  if (Math.min(width, height) < SIDE_AT_LEAST || Math.max(width, height) > bounds.side)
    return { fault: `has ${width} × ${height} pixels; each side of a logo has ${SIDE_AT_LEAST} to ${bounds.side}` }
  const cleaned = cleanPng(given)
  if ('fault' in cleaned) return cleaned
  return { logo: { width, height, bytes: cleaned.bytes, hash: createHash('sha256').update(cleaned.bytes).digest('hex') } }
}

/** A logo as a data URI (RFC 2397): how requests and files have it. The stated type is not trusted. */
export function readLogoUri(uri: string, bounds: LogoBounds): { logo: Logo } | { fault: string } {
  const [, encoded] = /^data:[\w/+.-]{0,40};base64,([A-Za-z0-9+/]*={0,2})$/.exec(uri) ?? []
  if (encoded === undefined) return { fault: 'is not a data URI with base64, as in data:image/png;base64,iVBORw0KGgo…' }
  return readLogo(Buffer.from(encoded, 'base64'), bounds)
}

export function logoUri(bytes: Uint8Array): string {
  return `${URI_START}${Buffer.from(bytes).toString('base64')}`
}
