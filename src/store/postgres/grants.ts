/** The grant ledger on PostgreSQL. `grants/ports.ts` documents what each method promises; one statement on one row decides it here. */
import type { EndReason } from '../../grants/model.ts'
import {
  type GrantLedger,
  LATE_BY_AT_MOST,
  type NewGrant,
  REPLACED_AT_MOST,
  type RedeemOutcome,
  type RedemptionRefusal,
  type RotateOutcome,
  type Rotation,
  StoreUnavailable,
} from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'
import { textArray } from './connection/statement.ts'
import { listingGrants } from './grant-lists.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { createWalletBook } from './wallets.ts'

// The idle time is counted from the time of the database. The absolute end is exactly the one that the person agreed to.
const INSERT = `
  INSERT INTO grants (id, client_id, wallet, wallet_kind, receipt_id, consented, scopes, resources, created_at, expires_at,
                      refresh_expires_at, generation, refresh_key_id, rotated_at, attempt_id, ended_at, end_reason,
                      dpop_jkt, auth_time, chain_id, session_hash, session_receipt_id)`
const NEW_ROW = `
  :id, :clientId, :wallet, :walletKind, :receiptId, :consented, :scopes, :resources, :at, :expiresAt,
  :at + :refreshIdle::bigint, 0, :refreshKeyId, :at, :attemptId, CASE WHEN :endReason::text IS NOT NULL THEN :at END,
  :endReason::text, :dpopJkt, :authTime, :chainId, :sessionHash, :sessionReceiptId`
const UNLESS_TAKEN = `
  ON CONFLICT (id) DO NOTHING
  RETURNING ${COLUMNS}`

/**
 * The attempt id of a reserved row, one that no attempt has redeemed yet. A redemption reserves the row, reads the epoch and the
 * session, and claims the row. An ending raises the epoch and then ends the rows it finds, reserved ones included, so an epoch
 * that is read after the reservation misses no ending. A failure before the claim leaves a row that the client's retry can claim
 * (docs/decisions/0015-a-repeated-code-exchange.md).
 */
const RESERVED = ''

// Columns that belong to the attempt are overwritten: an earlier attempt issued no token.
const CLAIM = `
  UPDATE grants SET attempt_id = :attemptId, refresh_key_id = :refreshKeyId, dpop_jkt = :dpopJkt`
const CLAIMABLE = `
  WHERE grants.id = :grantId AND grants.attempt_id = '${RESERVED}' AND grants.ended_at IS NULL`

// The condition for a refresh, shared by every form of the update.
const REFRESHABLE = `
  WHERE grants.id = :grantId AND grants.client_id = :clientId AND grants.generation = :generation
    AND grants.ended_at IS NULL AND grants.refresh_expires_at > :at
    AND (grants.wallet_kind = 'ordinary' OR :walletChecked::boolean)
    AND (grants.dpop_jkt IS NULL OR grants.dpop_jkt = :dpopJkt::text) AND grants.scopes ?| :clientScopes::text[]`

const NEW_IDLE_TIME = 'refresh_expires_at = least(:at + :refreshIdle::bigint, grants.expires_at)'

const ROTATE = `
  UPDATE grants
  SET generation = grants.generation + 1, refresh_key_id = :refreshKeyId, rotated_at = :at, attempt_id = :attemptId,
      ${NEW_IDLE_TIME}`

// The refresh token stays the same. Only its idle time starts again.
const KEEP = `
  UPDATE grants
  SET ${NEW_IDLE_TIME}`

// For a request that names scopes or a resource (rare): the row changes only if all of them were granted.
const NARROWED = `
    AND scopes @> :scopes::jsonb AND resources @> :resources::jsonb`

// A row that another transaction has locked is skipped, so that no statement over many rows waits for a lock.
const UNLOCKED = `,
  unlocked AS (SELECT grants.id FROM input JOIN grants ON grants.id = :grantId FOR NO KEY UPDATE OF grants SKIP LOCKED)`

const ROTATION = {
  grantId: 'text',
  clientId: 'text',
  generation: 'bigint',
  refreshKeyId: 'text',
  attemptId: 'text',
  refreshIdle: 'bigint',
  walletChecked: 'boolean',
  dpopJkt: 'text',
  // An array written as text, because unnest flattens arrays of arrays.
  clientScopes: 'text',
} as const

const GRANT = {
  id: 'text',
  clientId: 'text',
  wallet: 'text',
  walletKind: 'text',
  receiptId: 'text',
  consented: 'boolean',
  scopes: 'jsonb',
  resources: 'jsonb',
  expiresAt: 'bigint',
  refreshIdle: 'bigint',
  refreshKeyId: 'text',
  attemptId: 'text',
  endReason: 'text',
  dpopJkt: 'text',
  authTime: 'bigint',
  chainId: 'bigint',
  sessionHash: 'text',
  sessionReceiptId: 'text',
} as const

// Finds out why a refresh changed no row, and ends the grant if the token was replayed. The UPDATE decides about the replay by the row as
// it is under its lock. The SELECT returns the row as it was when the statement began, and `ended_now`. If the two contradict each
// other, another request changed the row in between, and the refresh is tried again.
const WHY_NOT = `
  WITH ended AS (
    UPDATE grants
    SET ended_at = :at,
        end_reason = CASE WHEN generation > :generation THEN 'refresh_replayed' ELSE 'refresh_newer_than_row' END
    WHERE id = :grantId AND client_id = :clientId AND ended_at IS NULL AND refresh_expires_at > :at
      AND (dpop_jkt IS NULL OR dpop_jkt = :dpopJkt::text)
      AND (generation < :generation OR generation > :generation + 1
           OR (generation = :generation + 1 AND attempt_id <> :attemptId
               AND NOT (rotated_at <= :at + ${LATE_BY_AT_MOST} AND :at < rotated_at + :retryWindow::bigint)))
    RETURNING id, generation)
  SELECT ${COLUMNS}, ended.id IS NOT NULL AS ended_now, ended.generation AS ended_generation, :at AS at
  FROM grants LEFT JOIN ended ON ended.id = grants.id
  WHERE grants.id = :grantId`

/** The number of unexpired access tokens of one grant that can be revoked one by one. */
const REVOKED_AT_MOST = 64

const STILL_REVOKED = 'FROM jsonb_each(grants.revoked_tokens) WHERE value::bigint > :at AND key <> :jti::text'

// Removes expired tokens and adds the new one. The statement computes everything from the row, so that two simultaneous revocations
// of one grant both take effect.
const REVOKE_TOKEN = `
  UPDATE grants
  SET revoked_tokens = (SELECT coalesce(jsonb_object_agg(key, value), '{}') ${STILL_REVOKED})
                       || jsonb_build_object(:jti::text, :expiresAt::bigint)
  WHERE id = :grantId AND client_id = :clientId AND (SELECT count(*) ${STILL_REVOKED}) < ${REVOKED_AT_MOST}
  RETURNING ended_at`

// Ends the grant if its list of revoked tokens is full. A separate statement, because this is rare and Citus does not allow a clock
// inside CASE.
const END_FULL = `
  UPDATE grants SET ended_at = :at, end_reason = 'too_many_revoked_tokens'
  WHERE id = :grantId AND client_id = :clientId AND ended_at IS NULL
    AND (SELECT count(*) ${STILL_REVOKED}) >= ${REVOKED_AT_MOST}
  RETURNING id`

const END = `
  UPDATE grants SET ended_at = :at, end_reason = :reason
  WHERE id = :grantId AND ended_at IS NULL AND (:clientId::text IS NULL OR client_id = :clientId)
  RETURNING id`

/** How often a change is tried again because another request changed the row meanwhile. Each time, one of the requests has succeeded. */
const ASKED_AT_MOST = 20

/** The row that most statements here concern. */
const GRANT_ID = { table: 'grants', key: 'grantId' } as const

type SessionState = { hash: string; ended_at: number | null; replaced_by: string | null }
type Owned = { client_id: string; ended_at: number | null }
type Present = GrantRow & { ended_now: boolean; ended_generation: number | null; at: number }

export function createGrantLedger(connection: Connection): GrantLedger {
  const insert = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${INSERT} VALUES (${NEW_ROW})${UNLESS_TAKEN}`,
    forMany: `${INSERT} SELECT ${NEW_ROW} FROM input ORDER BY 1${UNLESS_TAKEN}`,
    parameters: GRANT,
    place: { table: 'grants', key: 'id' },
    column: 'id',
    skipsLocked: false,
  })
  const claim = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${CLAIM}${CLAIMABLE} RETURNING ${COLUMNS}`,
    forMany: `${UNLOCKED}${CLAIM} FROM input JOIN unlocked ON unlocked.id = :grantId${CLAIMABLE} RETURNING ${COLUMNS}`,
    parameters: { grantId: 'text', attemptId: 'text', refreshKeyId: 'text', dpopJkt: 'text' },
    place: GRANT_ID,
    column: 'id',
    skipsLocked: true,
  })
  const { readEpoch } = createWalletBook(connection)
  const session = connection.prepareBatched<SessionState>({
    kind: 'read',
    one: 'SELECT hash, ended_at, replaced_by FROM sessions WHERE hash = :sessionHash',
    forMany: ' SELECT hash, ended_at, replaced_by FROM input JOIN sessions ON hash = :sessionHash',
    parameters: { sessionHash: 'text' },
    place: { table: 'sessions', key: 'sessionHash' },
    column: 'hash',
    skipsLocked: false,
  })
  const rotate = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${ROTATE}${REFRESHABLE} RETURNING ${COLUMNS}`,
    forMany: `${UNLOCKED}${ROTATE} FROM input JOIN unlocked ON unlocked.id = :grantId${REFRESHABLE} RETURNING ${COLUMNS}`,
    parameters: ROTATION,
    place: GRANT_ID,
    column: 'id',
    skipsLocked: true,
  })
  const rotateNarrowed = connection.prepare<GrantRow>('move', `${ROTATE}${REFRESHABLE}${NARROWED} RETURNING ${COLUMNS}`, GRANT_ID)
  const keep = connection.prepare<GrantRow>('move', `${KEEP}${REFRESHABLE} RETURNING ${COLUMNS}`, GRANT_ID)
  const keepNarrowed = connection.prepare<GrantRow>('move', `${KEEP}${REFRESHABLE}${NARROWED} RETURNING ${COLUMNS}`, GRANT_ID)
  const whyNot = connection.prepare<Present>('move', WHY_NOT, GRANT_ID)
  const revokeToken = connection.prepare<{ ended_at: number | null }>('move', REVOKE_TOKEN, GRANT_ID)
  const endFull = connection.prepare<{ id: string }>('move', END_FULL, GRANT_ID)
  const end = connection.prepare<{ id: string }>('move', END, GRANT_ID)
  const read = connection.prepareBatched<GrantRow>({
    kind: 'read',
    one: `SELECT ${COLUMNS} FROM grants WHERE id = :id`,
    forMany: ` SELECT ${COLUMNS} FROM input JOIN grants ON grants.id = :id`,
    parameters: { id: 'text' },
    place: { table: 'grants', key: 'id' },
    column: 'id',
    skipsLocked: false,
  })
  const owner = connection.prepare<Owned>('read', 'SELECT client_id, ended_at FROM grants WHERE id = :id', {
    table: 'grants',
    key: 'id',
  })

  async function put(grant: NewGrant, attemptId: string, at: number, endReason: EndReason | null): Promise<GrantRow | undefined> {
    const [row] = await insert({ ...grant, attemptId, at, refreshIdle: grant.refreshExpiresAt - at, endReason })
    return row
  }

  /** Returns null if neither an ending of the wallet nor the end of the session came after the code was issued. */
  async function whyEnded({ wallet, sessionHash, epoch }: NewGrant): Promise<RedemptionRefusal | null> {
    const [now, isLiving] = await Promise.all([readEpoch(wallet), isSessionLiving(sessionHash)])
    return now === epoch ? (isLiving ? null : 'session_ended') : 'epoch_raised'
  }

  async function isSessionLiving(first: string | null): Promise<boolean> {
    let hash = first
    for (let left = REPLACED_AT_MOST; hash !== null; left--) {
      const [row]: SessionState[] = await session({ sessionHash: hash })
      if (row?.ended_at === null) return true
      if (!row?.replaced_by || left === 0) return false
      hash = row.replaced_by
    }
    return true
  }

  async function readPresent(id: string): Promise<GrantRow> {
    const [row] = await read({ id })
    if (!row) throw new StoreUnavailable('the grant was taken by a row that is gone')
    return row
  }

  async function rotateOnce(rotation: Rotation): Promise<GrantRow | undefined> {
    const { scopes, clientScopes, resources, refreshExpiresAt, keepsToken, ...named } = rotation
    const values = { ...named, clientScopes: textArray(clientScopes), refreshIdle: refreshExpiresAt - rotation.at }
    if (scopes.length + resources.length === 0) return (await (keepsToken ? keep : rotate)(values))[0]
    const asked = { ...values, scopes, resources }
    return (await (keepsToken ? keepNarrowed : rotateNarrowed)(asked))[0]
  }

  /** Returns null if another request changed the row meanwhile: the refresh is then tried again. */
  async function whyNotRotated(rotation: Rotation): Promise<RotateOutcome | null> {
    const { grantId, clientId, generation, attemptId, retryWindow, dpopJkt, at } = rotation
    const [row] = await whyNot({ grantId, clientId, generation, attemptId, retryWindow, dpopJkt, at })
    if (!row) return { kind: 'unknown' }
    if (row.client_id !== clientId) return { kind: 'foreign' }
    if (row.ended_now) {
      const grant = grantOf({ ...row, generation: row.ended_generation ?? row.generation })
      return { kind: grant.generation > generation ? 'replayed' : 'newer_than_row', grant }
    }
    if (row.ended_at !== null) return { kind: 'ended' }
    if (row.dpop_jkt !== null && row.dpop_jkt !== dpopJkt) return { kind: 'wrong_key' }
    return whyItStands(row, rotation)
  }

  return {
    async redeemCode(grant, attemptId, at) {
      const found = (await put(grant, RESERVED, at, null)) ?? (await readPresent(grant.id))
      if (!isReserved(found)) return redeemedBy(found, attemptId)
      const refusal = await whyEnded(grant)
      if (refusal !== null) {
        await end({ grantId: grant.id, reason: refusal, at, clientId: null })
        return { kind: refusal }
      }
      const { id: grantId, refreshKeyId, dpopJkt } = grant
      const [claimed] = await claim({ grantId, attemptId, refreshKeyId, dpopJkt })
      return redeemedBy(claimed ?? (await readPresent(grant.id)), attemptId)
    },

    async spendCode(grant, attemptId, at) {
      await put(grant, attemptId, at, 'code_spent')
    },

    async rotateRefreshToken(rotation) {
      for (let left = ASKED_AT_MOST; left > 0; left--) {
        const row = await rotateOnce(rotation)
        if (row) return { kind: 'rotated', grant: grantOf(row) }
        const outcome = await whyNotRotated(rotation)
        if (outcome) return outcome
      }
      throw new StoreUnavailable('the grant is moved by too many at once')
    },

    async endGrant(grantId, reason, at, clientId) {
      if ((await end({ grantId, reason, at, clientId: clientId ?? null })).length > 0) return 'ended'
      const [row] = await owner({ id: grantId })
      if (!row) return 'unknown'
      return clientId !== undefined && row.client_id !== clientId ? 'foreign' : 'ended_before'
    },

    async revokeAccessToken(token) {
      const { grantId, clientId, jti, at } = token
      for (let left = ASKED_AT_MOST; left > 0; left--) {
        const [row] = await revokeToken(token)
        if (row) return row.ended_at === null ? 'revoked' : 'grant_ended'
        if ((await endFull({ grantId, clientId, jti, at })).length > 0) return 'grant_ended'
        const [present] = await owner({ id: grantId })
        if (!present) return 'unknown'
        if (present.client_id !== clientId) return 'foreign'
        if (present.ended_at !== null) return 'grant_ended'
        // Meanwhile a revoked token has expired, so the list has room again.
      }
      throw new StoreUnavailable('the grant is moved by too many at once')
    },

    async readGrant(grantId) {
      const [row] = await read({ id: grantId })
      return row && !isReserved(row) ? grantOf(row) : null
    },

    ...listingGrants(connection),
  }
}

const isReserved = (row: GrantRow): boolean => row.attempt_id === RESERVED && row.ended_at === null

function redeemedBy(row: GrantRow, attemptId: string): RedeemOutcome {
  const ours = row.attempt_id === attemptId && row.ended_at === null
  return { kind: ours ? 'redeemed' : 'taken', grant: grantOf(row) }
}

/** Why an active grant was neither refreshed nor ended; null if it can be by now. */
function whyItStands(row: Present, rotation: Rotation) {
  const { generation, attemptId, retryWindow, scopes, clientScopes, resources, walletChecked } = rotation
  const grant = grantOf(row)
  const step = row.generation - generation
  // This attempt already made the change, and its answer was lost.
  if (step === 1 && row.attempt_id === attemptId) return { kind: 'rotated', grant } as const
  if (row.refresh_expires_at <= row.at) return { kind: 'expired' } as const
  // A stored time in the future closes the retry window. Otherwise a clock that jumps back would open it again.
  const repeatable = step === 1 && row.rotated_at <= row.at + LATE_BY_AT_MOST && row.at < row.rotated_at + retryWindow
  if (step !== 0 && !repeatable) return null
  if (!grant.scopes.some((scope) => clientScopes.includes(scope))) return { kind: 'no_scope_left' } as const
  if (scopes.some((scope) => !grant.scopes.includes(scope))) return { kind: 'scope_not_granted' } as const
  if (resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' } as const
  if (grant.walletKind === 'contract' && !walletChecked) return { kind: 'wallet_unchecked', grant } as const
  return repeatable ? ({ kind: 'repeated', grant } as const) : null
}
