/** A passkey without a device: a P-256 key that signs challenges as WebAuthn authenticators do. */
import { createHash, createPrivateKey } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

/** The numbers are words of 64 hexadecimal digits. */
export type Assertion = { authenticatorData: string; clientDataJSON: string; r: string; s: string }

export type Passkey = {
  id: string
  x: string
  y: string
  /** The response to `navigator.credentials.get` for this challenge (WebAuthn §7.2), with a low s as wallets send it. */
  assert(challenge: Uint8Array): Assertion
  /** The private key for a virtual authenticator of a browser, in base64 (PKCS #8). */
  pkcs8: string
}

/** The response of a browser's authenticator, with the low s that wallets send. */
export function readAssertion(authenticatorData: Uint8Array, clientDataJSON: string, derSignature: Uint8Array): Assertion {
  const { r, s } = p256.Signature.fromBytes(derSignature, 'der')
  const low = s > p256.Point.Fn.ORDER / 2n ? p256.Point.Fn.ORDER - s : s
  const [rWord, sWord] = [r, low].map((number) => number.toString(16).padStart(64, '0')) as [string, string]
  return { authenticatorData: bytesToHex(authenticatorData), clientDataJSON, r: rWord, s: sWord }
}

/** The flags "user present" and "user verified" (WebAuthn §6.1). */
const FLAGS = 0x05

/** Derives a key from a name. */
export function passkey(name: string): Passkey {
  const key = sha256(utf8ToBytes(`passkey of ${name}`))
  const point = bytesToHex(p256.getPublicKey(key, false)).slice(2)
  return {
    id: `passkey-${name}`,
    x: point.slice(0, 64),
    y: point.slice(64),
    pkcs8: privateKey(key, point),
    assert(challenge) {
      const authenticatorData = concatBytes(sha256(utf8ToBytes('keys.example.com')), Uint8Array.of(FLAGS, 0, 0, 0, 0))
      const text = Buffer.from(challenge).toString('base64url')
      const clientDataJSON = `{"type":"webauthn.get","challenge":"${text}","origin":"https://keys.example.com","crossOrigin":false}`
      const signed = concatBytes(authenticatorData, sha256(utf8ToBytes(clientDataJSON)))
      const signature = bytesToHex(p256.sign(sha256(signed), key, { prehash: false, lowS: true }))
      const [r, s] = [signature.slice(0, 64), signature.slice(64)]
      return { authenticatorData: bytesToHex(authenticatorData), clientDataJSON, r, s }
    },
  }
}

function privateKey(key: Uint8Array, point: string): string {
  const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')
  const [d, x, y] = [base64url(bytesToHex(key)), base64url(point.slice(0, 64)), base64url(point.slice(64))] as const
  const jwk = { kty: 'EC', crv: 'P-256', d, x, y }
  return createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs8', format: 'der' }).toString('base64')
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}
