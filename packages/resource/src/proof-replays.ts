/**
 * The record of used DPoP proofs (RFC 9449 §11.1), so that a captured call cannot be sent again.
 *
 * The default is this process's memory. An API that runs as several processes needs one shared record. Otherwise a call
 * could be sent again to another process within the proof's minute. With Redis, for example: `SET key 1 NX EXAT
 * expiresAt`.
 */
export interface ProofReplays {
  /**
   * Records a use. Returns true for the first use of the `hash` and false for each later use. Exactly one of several
   * simultaneous uses is the first.
   *
   * @param use.hash base64url of a SHA-256, 43 characters
   * @param use.expiresAt epoch seconds; from then on the use may be deleted
   */
  spend(use: { hash: string; expiresAt: number }): boolean | Promise<boolean>
}

/** About 15 MB: enough for a thousand calls a second. */
const usual = 100_000

/**
 * Keeps uses in memory. If the memory is full, a new use replaces the oldest. Only a caller with a valid token can fill
 * the memory, and it gains only the chance to repeat a call that it has captured.
 */
export function rememberInMemory(now: () => number, limit = usual): ProofReplays {
  // In the order of arrival, which is nearly the order of expiry.
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
