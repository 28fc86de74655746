/** An API gives back what a use did not cost. It needs no token, because the user may have ended the access meanwhile. */
import {
  aboveDraw,
  alreadyReturned,
  amountWithoutLimit,
  drawAmountMissing,
  unknownDraw,
} from '../../protocol/oauth/oauth-error.ts'
import type { Deps } from '../model/deps.ts'
import type { Draw, DrawKey } from '../model/draw-store.ts'
import type { Client } from '../model/records.ts'

/** @throws OAuthError for every refusal */
export async function giveBack(
  { store, now }: Deps,
  api: Client,
  { amount, ...key }: Omit<DrawKey, 'clientId'> & { amount: number | null },
): Promise<Draw> {
  const outcome = await store.draws.giveBack({ ...key, clientId: api.id }, { amount, at: now() })
  if (outcome.kind === 'unknown') throw unknownDraw()
  if (outcome.kind === 'amount_missing') throw drawAmountMissing()
  if (outcome.kind === 'amount_without_limit') throw amountWithoutLimit()
  if (outcome.kind === 'above_draw') throw aboveDraw()
  if (outcome.kind === 'returned_otherwise') throw alreadyReturned()
  return outcome.draw
}
