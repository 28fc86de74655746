/**
 * Where the uses of DPoP proofs are remembered (RFC 9449 §11.1), so that a captured call cannot be sent again.
 *
 * The usual one is this process's memory. An API that runs as several processes needs one in common, or a call could be sent
 * again to another of them within the proof's minute: with Redis, for example, `SET key 1 NX EXAT expiresAt`.
 */
export interface ProofReplays {
  /**
   * Notes a use; true for the first of its `hash`, false for any after it. Of any number of simultaneous ones exactly one is the first.
   *
   * @param use.hash base64url of a SHA-256, 43 characters
   * @param use.expiresAt epoch seconds; from then on it may be forgotten
   */
  spend(use: { hash: string; expiresAt: number }): boolean | Promise<boolean>
}

/** Some 15 MB: a thousand calls a second. */
const usual = 100_000

/**
 * Remembers in memory. When it is full the oldest use goes for a new one: only who holds a token that works can fill it, and what
 * that gains is the chance to repeat a call that it also has captured.
 */
export function rememberInMemory(now: () => number, limit = usual): ProofReplays {
  // In the order they came, which is nearly that of their ends.
  const uses = new Map<string, number>()
  return {
    spend({ hash, expiresAt }) {
      const at = now()
      for (const [oldest, end] of uses) {
        if (end > at && uses.size < limit) break
        uses.delete(oldest)
      }
      if ((uses.get(hash) ?? 0) > at) return false
      uses.set(hash, expiresAt)
      return true
    },
  }
}
