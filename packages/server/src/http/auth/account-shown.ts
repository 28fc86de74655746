/** The account of a session as pages show it: the short form of its address, and its name beside it. */
import type { Deps } from '../../domain/model/deps.ts'
import type { Session } from '../../domain/model/records.ts'
import type { ShownAccount } from '../../pages/parts.ts'
import { shortAddress } from '../../pages/words.ts'

/** Waits for a name for 300 milliseconds at most, and does not fail. */
export async function accountShown({ accountNames }: Deps, session: Session): Promise<ShownAccount> {
  return { walletShort: shortAddress(session.wallet), walletName: (await accountNames?.find(session)) ?? null }
}
