/**
 * The grant ledger on SQLite. `grants/ports.ts` describes what each method promises; this file implements it with
 * conditions on one row.
 */
import type { StatementSync } from 'node:sqlite'
import type { EndReason, Grant } from '../../grants/model.ts'
import {
  type GrantLedger,
  LATE_BY_AT_MOST,
  type NewGrant,
  REPLACED_AT_MOST,
  type RedeemOutcome,
  type RedemptionRefusal,
  type RevokeTokenOutcome,
  type RotateOutcome,
  type Rotation,
} from '../../grants/ports.ts'
import type { Connection } from './connection.ts'
import { listingGrants } from './grant-lists.ts'
import { attemptOf, COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { INSERT, KEEP, NARROWED, ROTATE } from './grant-statements.ts'

/** The maximum number of access tokens of one grant that may be revoked individually at one time. */
const REVOKED_AT_MOST = 64

// Removes expired entries and adds the new one. If there is no space for it, the grant ends instead.
const REVOKE_TOKEN = `
  UPDATE grants
  SET revoked_tokens = (
        SELECT json_group_object(key, value) FROM (
          SELECT key, value FROM json_each(grants.revoked_tokens) WHERE value > :at AND key <> :jti
          UNION ALL SELECT :jti, :expiresAt)),
      ended_at = CASE WHEN full THEN coalesce(ended_at, :at) ELSE ended_at END,
      end_reason = CASE WHEN full THEN coalesce(end_reason, 'too_many_revoked_tokens') ELSE end_reason END
  FROM (SELECT count(*) >= ${REVOKED_AT_MOST} AS full
        FROM grants AS present, json_each(present.revoked_tokens) AS revoked
        WHERE present.id = :grantId AND revoked.value > :at AND revoked.key <> :jti)
  WHERE id = :grantId AND client_id = :clientId
  RETURNING ended_at`

const END = `
  UPDATE grants SET ended_at = :at, end_reason = :reason
  WHERE id = :grantId AND ended_at IS NULL AND client_id = coalesce(:clientId, client_id)`

export function createGrantLedger(connection: Connection): GrantLedger {
  const insert = connection.prepareWrite(INSERT)
  const rotate = connection.prepareWrite(`${ROTATE} RETURNING ${COLUMNS}`)
  const rotateNarrowed = connection.prepareWrite(`${ROTATE}${NARROWED} RETURNING ${COLUMNS}`)
  const keep = connection.prepareWrite(`${KEEP} RETURNING ${COLUMNS}`)
  const keepNarrowed = connection.prepareWrite(`${KEEP}${NARROWED} RETURNING ${COLUMNS}`)
  const revokeToken = connection.prepareWrite(REVOKE_TOKEN)
  const end = connection.prepareWrite(END)
  const present = connection.prepareWrite(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  const epoch = connection.prepareWrite('SELECT epoch FROM wallets WHERE address = ?')
  const session = connection.prepareWrite('SELECT ended_at, replaced_by FROM sessions WHERE hash = ?')
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  for (const statement of [rotate, rotateNarrowed, keep, keepNarrowed, present, read]) statement.setReturnArrays(true)
  const rowOf = (found: unknown) => found as GrantRow | undefined
  const rowBy = (statement: StatementSync, id: string) => rowOf(statement.get(id))

  /** Null if neither the wallet nor the session ended anything since the code was issued. */
  function whyEnded({ wallet, sessionHash, epoch: issuedAt }: NewGrant): RedemptionRefusal | null {
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

  function put(grant: NewGrant, attemptId: string, at: number, ended: { endedAt: number; endReason: EndReason } | null): boolean {
    const { epoch: _, ...columns } = grant
    const { changes } = insert.run({
      ...columns,
      consented: grant.consented ? 1 : 0,
      scopes: JSON.stringify(grant.scopes),
      resources: JSON.stringify(grant.resources),
      at,
      attemptId,
      endedAt: ended?.endedAt ?? null,
      endReason: ended?.endReason ?? null,
    })
    return changes > 0
  }

  /**
   * The conditional update, narrowed if the request names scopes or a resource. If the client keeps its refresh
   * token, the update does not rotate it.
   */
  function rotateRow(rotation: Rotation): GrantRow | undefined {
    const { retryWindow: _, scopes, resources, walletChecked, keepsToken, refreshKeyId, attemptId, ...rest } = rotation
    const named = {
      ...rest,
      ...(keepsToken ? {} : { refreshKeyId, attemptId }),
      walletChecked: walletChecked ? 1 : 0,
      clientScopes: JSON.stringify(rotation.clientScopes),
    }
    if (scopes.length + resources.length === 0) return rowOf((keepsToken ? keep : rotate).get(named))
    const narrowed = { ...named, scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) }
    return rowOf((keepsToken ? keepNarrowed : rotateNarrowed).get(narrowed))
  }

  /**
   * Why the conditional update changed no row. The reason is determined here, in the same transaction; the caller
   * refuses the request.
   */
  function whyNotRotated(rotation: Rotation): RotateOutcome {
    const row = rowBy(present, rotation.grantId)
    if (!row) return { kind: 'unknown' }
    const grant = grantOf(row)
    if (grant.clientId !== rotation.clientId) return { kind: 'foreign' }
    if (grant.endedAt !== null) return { kind: 'ended' }
    if (grant.dpopJkt !== null && grant.dpopJkt !== rotation.dpopJkt) return { kind: 'wrong_key' }
    const step = grant.generation - rotation.generation
    // This attempt's own update, whose response was lost.
    if (step === 1 && attemptOf(row) === rotation.attemptId) return { kind: 'rotated', grant }
    if (grant.refreshExpiresAt <= rotation.at) return { kind: 'expired' }
    const repeatable = step === 1 && isWithinWindow(grant, rotation)
    if (step === 0 || repeatable) {
      if (!grant.scopes.some((scope) => rotation.clientScopes.includes(scope))) return { kind: 'no_scope_left' }
      if (rotation.scopes.some((scope) => !grant.scopes.includes(scope))) return { kind: 'scope_not_granted' }
      if (rotation.resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' }
    }
    if ((step === 0 || repeatable) && grant.walletKind === 'contract' && !rotation.walletChecked)
      return { kind: 'wallet_unchecked', grant }
    if (repeatable) return { kind: 'repeated', grant }
    const replayed = step > 0
    end.run({
      grantId: grant.id,
      clientId: null,
      at: rotation.at,
      reason: replayed ? 'refresh_replayed' : 'refresh_newer_than_row',
    })
    return { kind: replayed ? 'replayed' : 'newer_than_row', grant }
  }

  return {
    redeemCode: (grant, attemptId, at) =>
      connection.writeByOne((): RedeemOutcome => {
        // Read in the transaction of the insert, so an ending happens before both or after both.
        const endReason = whyEnded(grant)
        if (put(grant, attemptId, at, endReason === null ? null : { endedAt: at, endReason }))
          return endReason === null ? { kind: 'redeemed', grant: begun(grant, at) } : { kind: endReason }
        const row = rowBy(present, grant.id) as GrantRow
        const kept = grantOf(row)
        const isOurs = attemptOf(row) === attemptId && kept.endedAt === null
        return { kind: isOurs ? 'redeemed' : 'taken', grant: kept }
      }),

    spendCode: (grant, attemptId, at) =>
      connection.writeByOne(() => {
        put(grant, attemptId, at, { endedAt: at, endReason: 'code_spent' })
      }),

    rotateRefreshToken: (rotation) =>
      connection.writeByOne((): RotateOutcome => {
        const row = rotateRow(rotation)
        return row ? { kind: 'rotated', grant: grantOf(row) } : whyNotRotated(rotation)
      }),

    endGrant: (grantId, reason, at, clientId) =>
      connection.writeByOne(() => {
        if (end.run({ grantId, reason, at, clientId: clientId ?? null }).changes > 0) return 'ended'
        const row = rowBy(present, grantId)
        if (!row) return 'unknown'
        return clientId !== undefined && grantOf(row).clientId !== clientId ? 'foreign' : 'ended_before'
      }),

    revokeAccessToken: (token) =>
      connection.writeByOne((): RevokeTokenOutcome => {
        const row = revokeToken.get(token) as { ended_at: number | null } | undefined
        if (row) return row.ended_at === null ? 'revoked' : 'grant_ended'
        return rowBy(present, token.grantId) ? 'foreign' : 'unknown'
      }),

    readGrant: (grantId) =>
      connection.read((): Grant | null => {
        const row = rowBy(read, grantId)
        return row ? grantOf(row) : null
      }),

    ...listingGrants(connection),
  }
}

/** A new grant as it was inserted, without reading the row again. */
function begun(grant: NewGrant, at: number): Grant {
  const { expiresAt, refreshExpiresAt, refreshKeyId, dpopJkt, authTime, chainId, sessionHash, ...rest } = grant
  const { sessionReceiptId, epoch: _, ...agreed } = rest
  return {
    ...agreed,
    createdAt: at,
    expiresAt,
    refreshExpiresAt,
    generation: 0,
    refreshKeyId,
    rotatedAt: at,
    endedAt: null,
    endReason: null,
    dpopJkt,
    authTime,
    chainId,
    sessionHash,
    sessionReceiptId,
    revokedTokens: {},
  }
}

/** A stored time in the future closes the window, so that a clock that jumped back cannot reopen it. */
function isWithinWindow({ rotatedAt }: Grant, { at, retryWindow }: Rotation): boolean {
  return rotatedAt <= at + LATE_BY_AT_MOST && at < rotatedAt + retryWindow
}
