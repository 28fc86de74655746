/**
 * Texts that only the service can read or write: `<prefix>.<key id>.<base64url(nonce ‖ ciphertext ‖ tag)>`,
 * AES-256-GCM. Codes, challenges and verifiers pass through browsers in this form, so issuing one stores nothing.
 * Sealed texts cannot be guessed (RFC 6749 §10.10).
 *
 * What the database stores is sealed as bytes: `key id ‖ nonce ‖ ciphertext ‖ tag`.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'

/**
 * The prefix of each purpose, by which scanners can recognise a leaked text. The prefixes are distinct: otherwise a text that was sealed
 * for one purpose would open for another.
 */
export const PREFIXES = {
  accountCursor: 'gra',
  adminCursor: 'grn',
  authorizationCode: 'grc',
  clientRegistration: 'grd',
  confirmation: 'grf',
  crossDeviceLink: 'grj',
  crossDeviceProof: 'grz',
  consoleDraft: 'grt',
  consoleForm: 'grb',
  consoleSecret: 'gru',
  consoleSession: 'grs',
  consoleSignIn: 'grh',
  deviceAnswer: 'gre',
  deviceCode: 'grk',
  deviceRequest: 'grq',
  endingProgress: 'grg',
  limitedChallenge: 'gry',
  limitedCode: 'grm',
  limitedDevice: 'grw',
  loginChallenge: 'grl',
  logoutQuestion: 'gro',
  pushedRequest: 'grp',
  loginVerifier: 'grv',
  receipt: 'grx',
} as const

export type SealPurpose = (typeof PREFIXES)[keyof typeof PREFIXES]

const NONCE = 12
const TAG = 16
/** Bytes of a key id in hexadecimal. */
const KEY_ID = 5
const SEALED = /^([a-z]{3})\.([0-9a-f]{10})\.([A-Za-z0-9_-]+)$/

/** Seals a JSON value. */
export function seal(ring: KeyRing, purpose: SealPurpose, value: unknown): string {
  const { keyId, sealed } = encrypt(ring, { purpose }, Buffer.from(JSON.stringify(value)))
  return `${purpose}.${keyId}.${sealed.toString('base64url')}`
}

/** Opens what `seal` made for this purpose; undefined for anything else. The value's shape is whatever was sealed. */
export function unseal(ring: KeyRing, purpose: SealPurpose, text: string): unknown {
  const parts = SEALED.exec(text)
  if (!parts || parts[1] !== purpose) return undefined
  const [, , keyId = '', body = ''] = parts
  const sealed = Buffer.from(body, 'base64url')
  // One spelling each: trailing bits that base64url would ignore must not make a second text of the same seal.
  if (sealed.toString('base64url') !== body) return undefined
  const plain = decrypt(ring, { purpose }, { keyId, sealed })
  return plain && JSON.parse(plain.toString('utf8'))
}

/** Sealed bytes open only with the same `bound`, a text that they do not contain. */
export type SealContext = { purpose: SealPurpose; bound: string }

/** Seals bytes, at least one. */
export function sealBytes(ring: KeyRing, context: SealContext, plain: Uint8Array): Uint8Array {
  const { keyId, sealed } = encrypt(ring, context, plain)
  return Buffer.concat([Buffer.from(keyId, 'hex'), sealed])
}

/** Opens what `sealBytes` made for this context; undefined for anything else. */
export function unsealBytes(ring: KeyRing, context: SealContext, bytes: Uint8Array): Uint8Array | undefined {
  const keyId = Buffer.from(bytes.subarray(0, KEY_ID)).toString('hex')
  return decrypt(ring, context, { keyId, sealed: bytes.subarray(KEY_ID) })
}

/** A text has no `bound`. */
type AnyContext = Pick<SealContext, 'purpose'> & Partial<SealContext>

function encrypt(ring: KeyRing, context: AnyContext, plain: Uint8Array): { keyId: string; sealed: Buffer } {
  const key = ring.maker('seal')
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key.subkey(context.purpose), nonce).setAAD(authenticatedData(context, key.id))
  return { keyId: key.id, sealed: Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]) }
}

function decrypt(
  ring: KeyRing,
  context: AnyContext,
  { keyId, sealed }: { keyId: string; sealed: Uint8Array },
): Buffer | undefined {
  if (sealed.length <= NONCE + TAG) return undefined
  const key = ring.opener('seal', keyId)
  if (!key) return undefined
  const nonce = sealed.subarray(0, NONCE)
  const decipher = createDecipheriv('aes-256-gcm', key.subkey(context.purpose), nonce, { authTagLength: TAG })
  decipher.setAAD(authenticatedData(context, keyId)).setAuthTag(sealed.subarray(-TAG))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE, -TAG)), decipher.final()])
  } catch {
    return undefined
  }
}

function authenticatedData({ purpose, bound }: AnyContext, keyId: string): Buffer {
  return Buffer.from(bound === undefined ? `${purpose}.${keyId}` : `${purpose}.${keyId}.${bound}`)
}

/** Seals and opens contents of one type for one purpose. `open` returns undefined for a text that was not sealed for this purpose. */
export type SealedFormat<Contents> = {
  seal(ring: KeyRing, contents: Contents): string
  open(ring: KeyRing, text: string): Contents | undefined
}

/** Declares the type of the contents of a purpose. The authentication tag proves that `seal` made the text, so the contents have this type. */
export function sealedFormat<Contents>(name: keyof typeof PREFIXES): SealedFormat<Contents> {
  const purpose = PREFIXES[name]
  return {
    seal: (ring, contents) => seal(ring, purpose, contents),
    open: (ring, text) => unseal(ring, purpose, text) as Contents | undefined,
  }
}
