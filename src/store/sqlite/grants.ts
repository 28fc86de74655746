/** The grant ledger on SQLite. What each move promises stands in `grants/ports.ts`; here is how one row decides it. */
import type { StatementSync } from 'node:sqlite'
import type { EndReason, Grant } from '../../grants/model.ts'
import {
  type GrantFilter,
  type GrantLedger,
  LATE_BY_AT_MOST,
  type NewGrant,
  type RedeemOutcome,
  type RevokeTokenOutcome,
  type RotateOutcome,
  type Rotation,
} from '../../grants/ports.ts'
import type { Connection } from './connection.ts'
import { COLUMNS, type GrantRow, grantOf, rowOf } from './grant-row.ts'
import { INSERT, INSERT_VALUES, KEEP, NARROWED, ROTATE, ROTATE_VALUES } from './grant-statements.ts'
import { numbered } from './numbered.ts'

/** How many access tokens of one grant may be revoked alone at one time. */
const REVOKED_AT_MOST = 64

// Forgets what has expired, adds the new one; where there is no room for it the grant ends instead.
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

/** How many rows one move of a mass ending looks at: a few milliseconds, in which nobody else can write. */
const BATCH = 500

type Named = Record<string, string | number>

/** Only the conditions that are asked for, so that a wallet's or a client's index finds the rows. */
function whoseGrants({ wallet, clientId }: { wallet?: string; clientId?: string }): { conditions: string[]; named: Named } {
  return {
    conditions: [
      ...(wallet === undefined ? [] : ['wallet = :wallet']),
      ...(clientId === undefined ? [] : ['client_id = :clientId']),
    ],
    named: { ...(wallet === undefined ? {} : { wallet }), ...(clientId === undefined ? {} : { clientId }) },
  }
}

/**
 * A wallet's grants, which are few, by their age; those of a client, or all, which may be millions, by their ids: they begin
 * with a time, and the table and the index by client lie in their order.
 */
function listOf(filter: GrantFilter): { sql: string; named: Named } {
  const { wallet, living, at, limit, after } = filter
  const { conditions, named } = whoseGrants(filter)
  if (after) {
    conditions.push(wallet === undefined ? 'id < :afterId' : '(created_at, id) < (:afterMadeAt, :afterId)')
    Object.assign(named, { afterId: after.id }, wallet === undefined ? {} : { afterMadeAt: after.createdAt })
  }
  if (living) {
    conditions.push('ended_at IS NULL', 'refresh_expires_at > :at')
    named.at = at
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = wallet === undefined ? 'id DESC' : 'created_at DESC, id DESC'
  return { sql: `SELECT ${COLUMNS} FROM grants ${where} ORDER BY ${order} LIMIT :limit`, named: { ...named, limit } }
}

export function createGrantLedger(connection: Connection): GrantLedger {
  const insert = connection.prepareWrite(numbered(INSERT, INSERT_VALUES))
  const rotate = connection.prepareWrite(numbered(`${ROTATE} RETURNING ${COLUMNS}`, ROTATE_VALUES))
  const rotateNarrowed = connection.prepareWrite(`${ROTATE}${NARROWED} RETURNING ${COLUMNS}`)
  const keep = connection.prepareWrite(`${KEEP} RETURNING ${COLUMNS}`)
  const keepNarrowed = connection.prepareWrite(`${KEEP}${NARROWED} RETURNING ${COLUMNS}`)
  const revokeToken = connection.prepareWrite(REVOKE_TOKEN)
  const end = connection.prepareWrite(END)
  const present = connection.prepareWrite(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  const epoch = connection.prepareWrite('SELECT epoch FROM wallets WHERE address = ?')
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  for (const statement of [insert, rotate, rotateNarrowed, keep, keepNarrowed, present, read]) statement.setReturnArrays(true)
  const rowBy = (statement: StatementSync, id: string): GrantRow | undefined => rowOf(statement.get(id))

  function put(grant: NewGrant, attemptId: string, at: number, ended: { endedAt: number; endReason: EndReason } | null): boolean {
    // In the order of INSERT_VALUES.
    const inserted = insert.get(
      grant.id,
      grant.clientId,
      grant.wallet,
      grant.walletKind,
      grant.receiptId,
      grant.consented ? 1 : 0,
      JSON.stringify(grant.scopes),
      JSON.stringify(grant.resources),
      at,
      grant.expiresAt,
      grant.refreshExpiresAt,
      grant.refreshKeyId,
      attemptId,
      ended?.endedAt ?? null,
      ended?.endReason ?? null,
      grant.dpopJkt,
      grant.authTime,
      grant.chainId,
      grant.sessionHash,
    )
    return inserted !== undefined
  }

  /** In the order of ROTATE_VALUES. */
  function whole(rotation: Rotation): unknown {
    const { grantId, clientId, generation, refreshKeyId, refreshExpiresAt, attemptId, at, dpopJkt } = rotation
    const walletChecked = rotation.walletChecked ? 1 : 0
    const clientScopes = JSON.stringify(rotation.clientScopes)
    return rotate.get(
      grantId,
      clientId,
      generation,
      refreshKeyId,
      refreshExpiresAt,
      attemptId,
      at,
      walletChecked,
      dpopJkt,
      clientScopes,
    )
  }

  /** Narrowed, or for a client whose token stays. */
  function unusual(rotation: Rotation): unknown {
    const { retryWindow: _, scopes, resources, keepsToken, refreshKeyId, attemptId, ...named } = rotation
    const walletChecked = rotation.walletChecked ? 1 : 0
    const clientScopes = JSON.stringify(rotation.clientScopes)
    const columns = { ...named, ...(keepsToken ? {} : { refreshKeyId, attemptId }), walletChecked, clientScopes }
    if (scopes.length + resources.length === 0) return keep.get(columns)
    const asked = { scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) }
    return (keepsToken ? keepNarrowed : rotateNarrowed).get({ ...columns, ...asked })
  }

  /** Why the conditional update moved nothing. Decided here, inside the move; refused outside. */
  function whyNotRotated(rotation: Rotation): RotateOutcome {
    const row = rowBy(present, rotation.grantId)
    if (!row) return { kind: 'unknown' }
    if (row.client_id !== rotation.clientId) return { kind: 'foreign' }
    if (row.ended_at !== null) return { kind: 'ended' }
    const grant = grantOf(row)
    if (row.dpop_jkt !== null && row.dpop_jkt !== rotation.dpopJkt) return { kind: 'wrong_key' }
    const step = row.generation - rotation.generation
    // Our own update, whose answer was lost on the way.
    if (step === 1 && row.attempt_id === rotation.attemptId) return { kind: 'rotated', grant }
    if (row.refresh_expires_at <= rotation.at) return { kind: 'expired' }
    const repeatable = step === 1 && isWithinWindow(row, rotation)
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
      grantId: row.id,
      clientId: null,
      at: rotation.at,
      reason: replayed ? 'refresh_replayed' : 'refresh_newer_than_row',
    })
    return { kind: replayed ? 'replayed' : 'newer_than_row', grant }
  }

  return {
    redeemCode: (grant, attemptId, at) =>
      connection.writeByOne((): RedeemOutcome => {
        // Read in the transaction of the insert. An ending runs before both or after both.
        const raised = ((epoch.get(grant.wallet) as { epoch: number } | undefined)?.epoch ?? 0) !== grant.epoch
        if (put(grant, attemptId, at, raised ? { endedAt: at, endReason: 'epoch_raised' } : null))
          return raised ? { kind: 'epoch_raised' } : { kind: 'redeemed', grant: begun(grant, at) }
        const row = rowBy(present, grant.id) as GrantRow
        const ours = row.attempt_id === attemptId && row.ended_at === null
        return { kind: ours ? 'redeemed' : 'taken', grant: grantOf(row) }
      }),

    spendCode: (grant, attemptId, at) =>
      connection.writeByOne(() => {
        put(grant, attemptId, at, { endedAt: at, endReason: 'code_spent' })
      }),

    rotateRefreshToken: (rotation) =>
      connection.writeByOne((): RotateOutcome => {
        const isUsual = !rotation.keepsToken && rotation.scopes.length + rotation.resources.length === 0
        const row = rowOf(isUsual ? whole(rotation) : unusual(rotation))
        return row ? { kind: 'rotated', grant: grantOf(row) } : whyNotRotated(rotation)
      }),

    endGrant: (grantId, reason, at, clientId) =>
      connection.writeByOne(() => {
        if (end.run({ grantId, reason, at, clientId: clientId ?? null }).changes > 0) return 'ended'
        const row = rowBy(present, grantId)
        if (!row) return 'unknown'
        return clientId !== undefined && row.client_id !== clientId ? 'foreign' : 'ended_before'
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

    listGrants: (filter: GrantFilter) =>
      connection.read(() => {
        const { sql, named } = listOf(filter)
        return connection
          .prepareRead(sql)
          .all(named)
          .map((row) => grantOf(row as GrantRow))
      }),

    async endGrants(of, reason, at) {
      const { conditions, named } = whoseGrants(of)
      if (conditions.length === 0) return 0
      const next = `SELECT id FROM grants WHERE ${conditions.join(' AND ')} AND id > :after ORDER BY id LIMIT ${BATCH}`
      const endBatch = (after: string) =>
        connection.write(() => {
          const rows = connection.prepareWrite(next).all({ ...named, after }) as { id: string }[]
          const changes = rows.map(({ id }) => Number(end.run({ grantId: id, clientId: null, at, reason }).changes))
          return { ended: changes.reduce((sum, each) => sum + each, 0), last: rows.at(BATCH - 1)?.id }
        })
      let ended = 0
      for (let after: string | undefined = ''; after !== undefined; ) {
        const batch = await endBatch(after)
        ended += batch.ended
        after = batch.last
      }
      return ended
    },
  }
}

/** A grant as its insert has just put it. Nothing is asked back that is known. */
function begun(grant: NewGrant, at: number): Grant {
  const { expiresAt, refreshExpiresAt, refreshKeyId, dpopJkt, authTime, chainId, sessionHash, epoch: _, ...agreed } = grant
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
    revokedTokens: {},
  }
}

/** A stored time in the future closes the window: no clock that jumped back may reopen it. */
function isWithinWindow(row: GrantRow, { at, retryWindow }: Rotation): boolean {
  return row.rotated_at <= at + LATE_BY_AT_MOST && at < row.rotated_at + retryWindow
}
