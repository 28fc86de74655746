/**
 * Ends everything in a database that was restored to an earlier state.
 *
 * Such a database lacks the endings and rotations that happened after that state, and does not show which are missing. So all
 * grants and sessions end, all receipts are withdrawn and all keys are replaced: no earlier token, code or login works.
 */

import type { Restoration } from '../model/operator-store.ts'
import type { Store } from '../model/store.ts'
import { type KeyKeeping, replaceKeys } from './keep-keys.ts'

export type EndedCounts = { grants: number; sessions: number; receipts: number; keys: number }

/**
 * After the first step the store is unconfirmed. After an interruption, call this function again: the second call ends what
 * is left and replaces the keys again.
 */
export async function endRestored(
  { restorations }: Pick<Store, 'restorations'>,
  keeping: KeyKeeping,
): Promise<{ restoration: Restoration; ended: EndedCounts }> {
  const restoration = await restorations.beginRestoration(keeping.now())
  // The keys are replaced first: all codes, challenges and tokens stop working, also those made after the restored state.
  const keys = await replaceKeys(keeping)
  const ended = await restorations.endEverything(keeping.now)
  return { restoration, ended: { ...ended, keys } }
}
