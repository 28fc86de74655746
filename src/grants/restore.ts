/**
 * A database put back from a backup has forgotten every ending and every rotation since. Nobody can tell which, so all
 * that it allows ends, and nothing that was ever made with its keys counts any more.
 */
import { type KeyKeeping, replaceKeys } from './keep-keys.ts'
import type { Restoration, Store } from './ports.ts'

export type Ended = { grants: number; sessions: number; receipts: number; keys: number }

/**
 * Ends all. Broken off anywhere it is to be repeated: the store counts as unconfirmed from the first step on, and
 * a repetition ends and replaces what is left, and once more what is new.
 */
export async function endRestored(
  store: Pick<Store, 'restorations'>,
  keeping: KeyKeeping,
): Promise<{ restoration: Restoration; ended: Ended }> {
  const restoration = await store.restorations.beginRestoration(keeping.now())
  // The keys first: with them go codes, challenges and tokens, those of after the backup as well.
  const keys = await replaceKeys(keeping)
  const ended = await store.restorations.endEverything(keeping.now())
  return { restoration, ended: { ...ended, keys } }
}
