/**
 * The access tokens that this process signed or verified lately, so that their signatures are not verified (again). The first request with
 * a new token usually follows at once. Reasons: docs/decisions/0015-keys-and-secrets.md.
 *
 * Only tokens that a key of the ring signed are added, so forged tokens cannot displace others.
 */
import { hash } from 'node:crypto'

/** Bytes of a SHA-256. */
const LENGTH = 32
/** The first two bytes of a digest select its slot. The next token of the same slot replaces it. */
const SLOTS = 65_536

export class KnownTokens {
  /** 2 MiB. The operating system provides a page when it is first written. */
  #digests = Buffer.alloc(SLOTS * LENGTH)

  /** Base64 of the SHA-256 of the whole text, so that each spelling of a token is verified separately. */
  nameOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  has(name: string): boolean {
    const digest = Buffer.from(name, 'base64')
    return digest.equals(this.#digests.subarray(slotOf(digest), slotOf(digest) + LENGTH))
  }

  /** Call this only after the token was signed or its signature was verified. */
  add(name: string): void {
    const digest = Buffer.from(name, 'base64')
    digest.copy(this.#digests, slotOf(digest))
  }

  forget(): void {
    this.#digests = Buffer.alloc(SLOTS * LENGTH)
  }
}

function slotOf(digest: Buffer): number {
  return digest.readUInt16BE(0) * LENGTH
}
