/** What the owner of a wallet sees of a limit: the numbers on the account page, and the draws beside the receipt. */
import { readConsent } from '../../protocol/wallet/read-consent.ts'
import type { ServerWord } from '../../protocol/wallet/server-word.ts'
import { describeUse, type LimitUse } from '../limits/use.ts'
import type { Deps } from '../model/deps.ts'
import type { Draw } from '../model/draw-store.ts'
import { isOver } from '../model/ended-grants.ts'
import { grantIdOfReceipt } from '../model/grant-id.ts'
import type { Grant, Receipt } from '../model/records.ts'

type SignedReceipt = Pick<Receipt, 'id' | 'wallet'> & { message: string }

/** The number of draws on one page. */
const SHOWN = 20
/** The number of draws that are read at a time for a downloaded receipt. */
const READ = 500

/** The limit of one grant of an app. `receiptId`: the receipt with the draws; null in a session that may see no receipt. */
export type GrantLimit = LimitUse & { receiptId: string | null }

/** The limits of these grants of one app, those that were signed last first. */
export function limitsOf(grants: readonly Grant[], now: number, { hasReceipts }: { hasReceipts: boolean }): GrantLimit[] {
  return grants
    .flatMap((grant) => {
      const use = describeUse(grant, now)
      return use === null ? [] : [{ ...use, receiptId: hasReceipts ? grant.receiptId : null }]
    })
    .sort((one, other) => other.signedAt - one.signedAt)
}

/** `more`: the number of the last draw of the page, if older ones follow. `isOver`: nothing can be drawn any more. */
export type Counted = LimitUse & { grantId: string; isOver: boolean; rows: Draw[]; more: number | null }

/**
 * What the service counted of the limit in the text of a receipt. `none`: the text has no limit. `unknown`: the row of the grant is not there any
 * more, or no code was redeemed. `before`: the number of the last draw of the previous page.
 */
export async function readCounted(deps: Deps, receipt: SignedReceipt, before?: number): Promise<Counted | 'none' | 'unknown'> {
  const grant = await readLimitedGrant(deps, receipt)
  if (typeof grant === 'string') return grant
  const use = describeUse(grant, deps.now())
  if (use === null) return 'unknown'
  const read = await deps.store.draws.listDraws(grant.id, { before, limit: SHOWN + 1 })
  const rows = read.slice(0, SHOWN)
  const more = read.length > SHOWN ? (rows.at(-1)?.number ?? null) : null
  return { ...use, grantId: grant.id, isOver: isOver(grant, deps.now()), rows, more }
}

/** The part of a downloaded receipt that the wallet did not sign; null if there is none. */
export async function readServerWord(deps: Deps, receipt: SignedReceipt): Promise<ServerWord | null> {
  const grant = await readLimitedGrant(deps, receipt)
  if (typeof grant === 'string') return null
  const draws: ServerWord['draws'] = []
  for (let isMore = true; isMore; ) {
    const page = await deps.store.draws.listDraws(grant.id, { before: draws.at(-1)?.draw, limit: READ })
    draws.push(...page.map(writeDraw))
    isMore = page.length === READ
  }
  return { issuer: deps.settings.authUrl, at: deps.now(), draws }
}

function writeDraw({ number: draw, at, amount, returned }: Draw): ServerWord['draws'][number] {
  return { draw, at, ...(amount !== null && { amount }), ...(returned !== null && { returned }) }
}

/** The one grant that the signature of the receipt could create. */
async function readLimitedGrant(deps: Deps, { id, wallet, message }: SignedReceipt): Promise<Grant | 'none' | 'unknown'> {
  const consent = readConsent(message)
  if (!consent?.limit) return 'none'
  const grant = await deps.store.grants.readGrant(grantIdOfReceipt(id, consent.issuedAt))
  return grant?.wallet === wallet ? grant : 'unknown'
}
