/**
 * Ends everything in a database that was restored to an earlier state.
 *
 * Such a database lacks the endings and rotations that happened after that state, and nothing in it shows which. So all
 * grants, sessions and receipts end, and all keys are replaced: no token, code or login of before the restore works.
 */
import { type KeyKeeping, replaceKeys } from './keep-keys.ts'
import type { Restoration, Store } from './ports.ts'

export type Ended = { grants: number; sessions: number; receipts: number; keys: number }

/**
 * The store counts as unconfirmed from the first step on. If this is interrupted, call it again: it ends what is left
 * and replaces the keys once more.
 */
export async function endRestored(
  { restorations }: Pick<Store, 'restorations'>,
  keeping: KeyKeeping,
): Promise<{ restoration: Restoration; ended: Ended }> {
  const restoration = await restorations.beginRestoration(keeping.now())
  // The keys first: codes, challenges and tokens stop working with them, including those made after the restored state.
  const keys = await replaceKeys(keeping)
  const ended = await restorations.endEverything(keeping.now())
  return { restoration, ended: { ...ended, keys } }
}
