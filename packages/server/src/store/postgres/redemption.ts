/**
 * The redemption of a code on PostgreSQL.
 *
 * On one primary, one statement inserts the grant if the epoch and the session are those of the code. The lock of the wallet, which the ending of
 * everything holds alone, makes both one moment (`statements/wallet-lock.ts`).
 *
 * For every other code, and on a cluster, whose machines share no transaction, the redemption has three steps: insert a reserved row, read the epoch and
 * the session, then claim the row. One claim succeeds.
 */

import type { EndReason, Grant } from '../../domain/model/records.ts'
import { followSession, redeemAgain, refuseRedemption } from '../../domain/model/redemption.ts'
import type { GrantStore, NewGrant, RedeemOutcome, RedemptionRefusal } from '../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { listText } from '../list-text.ts'
import { unpack, unpackNullable } from '../packed.ts'
import { COLUMNS, type GrantRow, grantOf, INSERT_GRANT, NEW_ROW, NEW_ROW_PARAMETERS } from './grant-row.ts'
import {
  GRANT_ID,
  isReserved,
  prepareEndOfGrant,
  prepareGrantConfirmation,
  prepareReadOfGrant,
  RESERVED,
  UNLOCKED,
} from './grant-statements.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { hexOf } from './statements/values.ts'
import { IS_LOCKED } from './statements/wallet-lock.ts'
import { createWalletStore } from './wallets.ts'

const UNLESS_TAKEN = `
  ON CONFLICT (id) DO NOTHING
  RETURNING ${COLUMNS}`

// Columns that belong to the attempt are overwritten: an earlier attempt issued no token.
const CLAIM = `
  UPDATE grants SET attempt_id = :attemptId::packed, refresh_key_id = :refreshKeyId, dpop_jkt = :dpopJkt::packed`
const CLAIMABLE = `
  WHERE grants.id = :grantId::packed AND grants.attempt_id = '${hexOf(RESERVED)}' AND grants.ended_at IS NULL`

// The condition is true only if `refuseRedemption` does not refuse, so no rule is decided here: a code whose session was replaced, for example, has
// three steps.
const IF_UNENDED = `
  LEFT JOIN wallets ON wallets.address = :wallet::packed
  LEFT JOIN sessions ON sessions.hash = :sessionHash::packed
  WHERE coalesce(wallets.epoch, 0) = :epoch
    AND (:sessionHash::packed IS NULL OR (sessions.hash IS NOT NULL AND sessions.ended_at IS NULL))`
const NEW_VALUES = `
  RETURNING id, created_at, refresh_expires_at`

type NewValues = Pick<GrantRow, 'id' | 'created_at' | 'refresh_expires_at'>

type SessionRow = { hash: Uint8Array; ended_at: number | null; replaced_by: Uint8Array | null }

export function redeemingCodes(connection: PostgresConnection): Pick<GrantStore, 'redeemCode' | 'spendCode'> {
  const { insertUnended, insert, claim, end, read } = prepareRedemption(connection)
  const whyEnded = checkingEndings(connection)
  const confirm = prepareGrantConfirmation(connection)

  async function insertRow(...row: Parameters<typeof rowOf>): Promise<GrantRow | undefined> {
    return (await insert(rowOf(...row)))[0]
  }

  async function readPresent(id: string): Promise<GrantRow> {
    const [row] = await read({ id })
    if (!row) throw new StoreUnavailable('the row of the grant was deleted meanwhile')
    return row
  }

  /** The row was claimed before: by this attempt, if the response was lost, or by another one. */
  async function redeemedBefore(row: GrantRow, attemptId: string): Promise<RedeemOutcome> {
    const outcome = redeemAgain(grantOf(row), { claimedBy: unpack(row.attempt_id), attemptId })
    if (outcome.kind === 'redeemed') await confirm({ grantId: outcome.grant.id })
    return outcome
  }

  return {
    async redeemCode(grant, attemptId, at) {
      const [inserted] = await insertUnended(rowOf(grant, attemptId, at, null))
      if (inserted) return { kind: 'redeemed', grant: newGrantOf(grant, inserted) }
      if (!(await insertRow(grant, RESERVED, at, null))) {
        const found = await readPresent(grant.id)
        if (!isReserved(found)) return redeemedBefore(found, attemptId)
        // The row must be durable before the epoch is read. Otherwise a failover could lose the row, and an ending on the new server would
        // not find it.
        await confirm({ grantId: grant.id })
      }
      const refusal = await whyEnded(grant)
      if (refusal !== null) {
        await end({ grantId: grant.id, reason: refusal, at, clientId: null })
        return { kind: refusal }
      }
      const { id: grantId, refreshKeyId, dpopJkt } = grant
      const [claimed] = await claim({ grantId, attemptId, refreshKeyId, dpopJkt })
      if (claimed) return { kind: 'redeemed', grant: grantOf(claimed) }
      const present = await readPresent(grant.id)
      // A standby was promoted meanwhile, and lacks the claim that the statement above found. A repeated request can claim the row.
      if (isReserved(present)) throw new StoreUnavailable('another server took over, and the code is not redeemed there')
      return redeemedBefore(present, attemptId)
    },

    async spendCode(grant, attemptId, at) {
      if (!(await insertRow(grant, attemptId, at, 'code_spent'))) await confirm({ grantId: grant.id })
    },
  }
}

/** The values of a new row. */
function rowOf(grant: NewGrant, attemptId: string, at: number, endReason: EndReason | null) {
  return {
    ...grant,
    isContract: grant.walletKind === 'contract',
    scopes: listText(grant.scopes),
    resources: listText(grant.resources),
    attemptId,
    at,
    refreshIdle: grant.refreshExpiresAt - at,
    endReason,
  }
}

/** The grant as it was inserted, without reading the row again. */
function newGrantOf(grant: NewGrant, { created_at: createdAt, refresh_expires_at: refreshExpiresAt }: NewValues): Grant {
  const begun = { createdAt, refreshExpiresAt, rotatedAt: createdAt }
  return { ...grant, ...begun, generation: 0, endedAt: null, endReason: null, revokedTokens: {}, drawn: null }
}

function prepareRedemption(connection: PostgresConnection) {
  const insertUnended = connection.prepareTogether<NewValues>(
    {
      kind: 'move',
      one: `${INSERT_GRANT} SELECT ${NEW_ROW} FROM (SELECT) AS one${IF_UNENDED} ON CONFLICT (id) DO NOTHING${NEW_VALUES}`,
      forMany: `${INSERT_GRANT} SELECT ${NEW_ROW} FROM input${IF_UNENDED} AND :wallet ${IS_LOCKED} ORDER BY 1 ON CONFLICT (id) DO NOTHING${NEW_VALUES}`,
      parameters: NEW_ROW_PARAMETERS,
      place: { table: 'grants', key: 'id', lock: { mode: 'shared', wallet: 'wallet' } },
      column: 'id',
      skipsLocked: true,
    },
    async () => [],
  )
  const insert = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${INSERT_GRANT} VALUES (${NEW_ROW})${UNLESS_TAKEN}`,
    forMany: `${INSERT_GRANT} SELECT ${NEW_ROW} FROM input ORDER BY 1${UNLESS_TAKEN}`,
    parameters: NEW_ROW_PARAMETERS,
    place: { table: 'grants', key: 'id' },
    column: 'id',
    skipsLocked: false,
  })
  const claim = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${CLAIM}${CLAIMABLE} RETURNING ${COLUMNS}`,
    forMany: `${UNLOCKED}${CLAIM} FROM input JOIN unlocked ON unlocked.id = :grantId::packed${CLAIMABLE} RETURNING ${COLUMNS}`,
    parameters: { grantId: 'packed', attemptId: 'packed', refreshKeyId: 'text', dpopJkt: 'packed' },
    place: GRANT_ID,
    column: 'id',
    skipsLocked: true,
  })
  return { insertUnended, insert, claim, end: prepareEndOfGrant(connection), read: prepareReadOfGrant(connection) }
}

/** Returns a function from a code to whether its wallet or its session ended after the code was issued. */
function checkingEndings(connection: PostgresConnection): (grant: NewGrant) => Promise<RedemptionRefusal | null> {
  const { readEpoch } = createWalletStore(connection)
  const session = connection.prepareBatched<SessionRow>({
    kind: 'read',
    one: 'SELECT hash, ended_at, replaced_by FROM sessions WHERE hash = :sessionHash::packed',
    forMany: ' SELECT hash, ended_at, replaced_by FROM input JOIN sessions ON hash = :sessionHash::packed',
    parameters: { sessionHash: 'packed' },
    place: { table: 'sessions', key: 'sessionHash' },
    column: 'hash',
    skipsLocked: false,
  })
  async function stateOfSession(first: string | null): Promise<'valid' | 'ended'> {
    if (first === null) return 'valid'
    let hash = first
    for (let followed = 0; ; followed++) {
      const [row] = await session({ sessionHash: hash })
      const state = followSession(row && { endedAt: row.ended_at, replacedBy: unpackNullable(row.replaced_by) }, followed)
      if (typeof state === 'string') return state
      hash = state.replacedBy
    }
  }

  return async (code) => {
    const [epoch, state] = await Promise.all([readEpoch(code.wallet), stateOfSession(code.sessionHash)])
    return refuseRedemption(code, { epoch, session: state })
  }
}
