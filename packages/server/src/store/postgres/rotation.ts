/** The rotation of a refresh token on PostgreSQL: one conditional update, and one statement that explains why no row changed. */
import { grantedAt } from '../../domain/model/granted-scopes.ts'
import { type GrantStore, LATE_BY_AT_MOST, type RotateOutcome, type Rotation } from '../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { GRANT_ID, prepareGrantConfirmation, TRIES_AT_MOST, UNLOCKED } from './grant-statements.ts'
import type { Connection } from './statements/connection.ts'
import { textArray } from './statements/statement.ts'

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

// For a request that names scopes or a resource (rare): the row changes only if all of them were granted for the resource.
const GRANTED_AT = 'coalesce(scopes_by_resource -> :resource::text, scopes)'
const NARROWED = `
    AND ${GRANTED_AT} @> :scopes::jsonb AND resources @> :resources::jsonb AND ${GRANTED_AT} ?| :clientScopes::text[]`

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

type Present = GrantRow & { ended_now: boolean; ended_generation: number | null; at: number }

export function rotatingTokens(connection: Connection): Pick<GrantStore, 'rotateRefreshToken'> {
  const { rotate, rotateNarrowed, keep, keepNarrowed, whyNot } = prepareRotation(connection)
  const confirm = prepareGrantConfirmation(connection)

  async function rotateOnce(rotation: Rotation): Promise<GrantRow | undefined> {
    const { scopes, clientScopes, resources, refreshExpiresAt, keepsToken, onlyChecks: _, ...named } = rotation
    const values = { ...named, clientScopes: textArray(clientScopes), refreshIdle: refreshExpiresAt - rotation.at }
    if (scopes.length + resources.length === 0) return (await (keepsToken ? keep : rotate)(values))[0]
    const narrowed = { ...values, scopes, resources, resource: resources[0] ?? null }
    return (await (keepsToken ? keepNarrowed : rotateNarrowed)(narrowed))[0]
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
    return whyUnchanged(row, rotation)
  }

  return {
    async rotateRefreshToken(rotation) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        const row = rotation.onlyChecks ? undefined : await rotateOnce(rotation)
        if (row) return { kind: 'rotated', grant: grantOf(row) }
        const outcome = await whyNotRotated(rotation)
        if (outcome?.kind === 'rotated' || outcome?.kind === 'repeated') await confirm(rotation)
        if (outcome) return outcome
      }
      throw new StoreUnavailable('other requests keep changing the grant')
    },
  }
}

function prepareRotation(connection: Connection) {
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
  return { rotate, rotateNarrowed, keep, keepNarrowed, whyNot }
}

/** Why an active grant was neither refreshed nor ended; null if it can be by now. */
function whyUnchanged(row: Present, rotation: Rotation) {
  const { generation, attemptId, retryWindow, scopes, clientScopes, resources, walletChecked } = rotation
  const grant = grantOf(row)
  const step = row.generation - generation
  // This attempt already made the change, and its response was lost.
  if (step === 1 && row.attempt_id === attemptId) return { kind: 'rotated', grant } as const
  if (row.refresh_expires_at <= row.at) return { kind: 'expired' } as const
  // A stored time in the future closes the retry window. Otherwise a clock that jumps back would open it again.
  const repeatable = step === 1 && row.rotated_at <= row.at + LATE_BY_AT_MOST && row.at < row.rotated_at + retryWindow
  if (step !== 0 && !repeatable) return null
  const granted = grantedAt(grant, resources[0])
  if (resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' } as const
  if (!granted.some((scope) => clientScopes.includes(scope))) return { kind: 'no_scope_left' } as const
  if (scopes.some((scope) => !granted.includes(scope))) return { kind: 'scope_not_granted' } as const
  if (grant.walletKind === 'contract' && !walletChecked) return { kind: 'wallet_unchecked', grant } as const
  if (rotation.onlyChecks) return { kind: 'may_rotate', grant } as const
  return repeatable ? ({ kind: 'repeated', grant } as const) : null
}
