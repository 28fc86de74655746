/** The redemption of a code on SQLite: one transaction, which reads the epoch and the session and inserts the grant. */

import type { Grant } from '../../domain/model/records.ts'
import {
  type GrantStore,
  type NewGrant,
  REPLACED_AT_MOST,
  type RedeemOutcome,
  type RedemptionRefusal,
} from '../../domain/model/request-store.ts'
import type { Connection } from './connection.ts'
import { attemptOf, type GrantRow, grantOf, INSERT_GRANT, newRow } from './grant-row.ts'
import { preparePresent } from './grant-statements.ts'

export function redeemingCodes(connection: Connection): Pick<GrantStore, 'redeemCode' | 'spendCode'> {
  const insert = connection.prepareWrite(INSERT_GRANT)
  const whyEnded = checkingEndings(connection)
  const present = preparePresent(connection)

  return {
    redeemCode: (grant, attemptId, at) =>
      connection.writeByOne((): RedeemOutcome => {
        // Read in the transaction of the insert, so an ending happens before both or after both.
        const endReason = whyEnded(grant)
        const ended = endReason === null ? null : { endedAt: at, endReason }
        if (insert.run(...newRow({ grant, attemptId, at, ended })).changes > 0)
          return endReason === null ? { kind: 'redeemed', grant: begun(grant, at) } : { kind: endReason }
        const row = present(grant.id) as GrantRow
        const kept = grantOf(row)
        const isOurs = attemptOf(row) === attemptId && kept.endedAt === null
        return { kind: isOurs ? 'redeemed' : 'taken', grant: kept }
      }),

    spendCode: (grant, attemptId, at) =>
      connection.writeByOne(() => {
        insert.run(...newRow({ grant, attemptId, at, ended: { endedAt: at, endReason: 'code_spent' } }))
      }),
  }
}

/** Returns a function from a code to whether its wallet or its session ended after the code was issued. */
function checkingEndings(connection: Connection): (grant: NewGrant) => RedemptionRefusal | null {
  const epoch = connection.prepareWrite('SELECT epoch FROM wallets WHERE address = ?')
  const session = connection.prepareWrite('SELECT ended_at, replaced_by FROM sessions WHERE hash = ?')
  return ({ wallet, sessionHash, epoch: issuedAt }) => {
    if (((epoch.get(wallet) as { epoch: number } | undefined)?.epoch ?? 0) !== issuedAt) return 'epoch_raised'
    let hash = sessionHash
    for (let left = REPLACED_AT_MOST; hash !== null; left--) {
      const row = session.get(hash) as { ended_at: number | null; replaced_by: string | null } | undefined
      if (row?.ended_at === null) return null
      if (!row?.replaced_by || left === 0) return 'session_ended'
      hash = row.replaced_by
    }
    return null
  }
}

/** A new grant as it was inserted, without reading the row again. */
function begun(grant: NewGrant, at: number): Grant {
  return { ...grant, createdAt: at, generation: 0, rotatedAt: at, endedAt: null, endReason: null, revokedTokens: {} }
}
