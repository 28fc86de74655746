/**
 * The tokens whose signature this process has verified, so that each signature is verified once.
 *
 * Only the check with the feed uses them: the feed has the keys whose tokens are valid, so a key that was retired counts at once. A
 * check takes 7 microseconds instead of 108 (`npm run bench -- feed`). There are up to 2,000 tokens, and a usual token takes about 3 kB.
 */
import { readTokenIds, type TokenIds } from './feed/token-ids.ts'
import type { SignedToken } from './signature-check.ts'

const TOKENS_AT_MOST = 1000
/** Characters. Longer tokens are verified each time. */
const LENGTH_AT_MOST = 4096

export type VerifiedToken = SignedToken & { ids: TokenIds | undefined }

export class VerifiedTokens {
  /** The tokens of the latest calls, and those of before. The older ones are discarded together. */
  #recent = new Map<string, VerifiedToken>()
  #older = new Map<string, VerifiedToken>()

  find(text: string): VerifiedToken | undefined {
    const recent = this.#recent.get(text)
    if (recent) return recent
    const older = this.#older.get(text)
    if (older) this.#keep(text, older)
    return older
  }

  /** Call this only after the signature was verified. */
  add(text: string, signed: SignedToken): VerifiedToken {
    const verified = { ...signed, ids: readTokenIds(signed.token, signed.keyId) }
    // `nbf` would have to be checked again.
    if (text.length > LENGTH_AT_MOST || signed.token.claims.nbf !== undefined) return verified
    // Every call with this token gets these claims.
    freeze(signed.token.claims)
    freeze(signed.token.scopes)
    this.#keep(text, verified)
    return verified
  }

  #keep(text: string, verified: VerifiedToken): void {
    if (this.#recent.size >= TOKENS_AT_MOST) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(text, verified)
  }
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(value)) freeze(member)
  Object.freeze(value)
}
