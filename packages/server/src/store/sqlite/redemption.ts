/** The redemption of a code on SQLite: one transaction, which reads the epoch and the session and inserts the grant. */

import type { Grant } from '../../domain/model/records.ts'
import { followSession, redeemAgain, refuseRedemption, type SessionState } from '../../domain/model/redemption.ts'
import type { GrantStore, NewGrant, RedeemOutcome, RedemptionRefusal } from '../../domain/model/request-store.ts'
import { pack, unpackNullable } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
import { attemptOf, type GrantRow, grantOf, INSERT_GRANT, newRow } from './grant-row.ts'
import { preparePresent } from './grant-statements.ts'

export function redeemingCodes(connection: SqliteConnection): Pick<GrantStore, 'redeemCode' | 'spendCode'> {
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
        const row = present(pack(grant.id)) as GrantRow
        return redeemAgain(grantOf(row), { claimedBy: attemptOf(row), attemptId })
      }),

    spendCode: (grant, attemptId, at) =>
      connection.writeByOne(() => {
        insert.run(...newRow({ grant, attemptId, at, ended: { endedAt: at, endReason: 'code_spent' } }))
      }),
  }
}

/** Returns a function from a code to whether its wallet or its session ended after the code was issued. */
function checkingEndings(connection: SqliteConnection): (code: NewGrant) => RedemptionRefusal | null {
  const epoch = connection.prepareWrite('SELECT epoch FROM wallets WHERE address = ?')
  const read = connection.prepareWrite('SELECT ended_at, replaced_by FROM sessions WHERE hash = ?')
  function stateOf(hash: string): SessionState {
    const row = read.get(pack(hash)) as { ended_at: number | null; replaced_by: Uint8Array | null } | undefined
    return row && { endedAt: row.ended_at, replacedBy: unpackNullable(row.replaced_by) }
  }
  function stateOfSession(first: string | null): 'valid' | 'ended' {
    if (first === null) return 'valid'
    let hash = first
    for (let followed = 0; ; followed++) {
      const state = followSession(stateOf(hash), followed)
      if (typeof state === 'string') return state
      hash = state.replacedBy
    }
  }
  return (code) => {
    const row = epoch.get(pack(code.wallet)) as { epoch: number } | undefined
    return refuseRedemption(code, { epoch: row?.epoch ?? 0, session: stateOfSession(code.sessionHash) })
  }
}

/** A new grant as it was inserted, without reading the row again. */
function begun(grant: NewGrant, at: number): Grant {
  return { ...grant, createdAt: at, generation: 0, rotatedAt: at, endedAt: null, endReason: null, revokedTokens: {}, drawn: null }
}
