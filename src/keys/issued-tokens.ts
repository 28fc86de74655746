/**
 * The access tokens that this process signed lately, so that the first request with a new token does not verify a signature that was just
 * made (docs/decisions/0043-tokens-that-this-process-signed.md). Other nodes verify it.
 *
 * A table of fixed size and not a map: at thousands of tokens a second, entries of a map would be collected by the garbage collector.
 */

/** Bytes of a SHA-256. */
const LENGTH = 32
/** The first two bytes of a digest select its slot. The next token of the same slot replaces it. */
const SLOTS = 65_536

export class IssuedTokens {
  /** 2 MiB. The operating system provides a page when it is first written. */
  #digests = Buffer.alloc(SLOTS * LENGTH)

  /** `name`: base64 of the SHA-256 of the whole token. */
  has(name: string): boolean {
    const digest = Buffer.from(name, 'base64')
    return digest.equals(this.#digests.subarray(slotOf(digest), slotOf(digest) + LENGTH))
  }

  /** Call this only for a token that was just signed. */
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
