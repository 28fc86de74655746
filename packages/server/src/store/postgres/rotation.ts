/**
 * The rotation of a refresh token on PostgreSQL: one conditional update. If no row changed, the row is read, and `decideRotation` decides about it.
 * The condition of the update is true exactly if the function decides to rotate.
 */
import type { GrantStore, RotateOutcome, Rotation } from '../../domain/model/request-store.ts'
import { decideRotation } from '../../domain/model/rotation.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { unpack } from '../packed.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { GRANT_ID, prepareGrantConfirmation, TRIES_AT_MOST, UNLOCKED } from './grant-statements.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { textArray } from './statements/statement.ts'

// The condition under which `decideRotation` rotates, shared by every form of the update.
const REFRESHABLE = `
  WHERE grants.id = :grantId::packed AND grants.client_id = :clientId::packed AND grants.generation = :generation
    AND grants.ended_at IS NULL AND grants.refresh_expires_at > :at
    AND (NOT grants.is_contract OR :walletChecked::boolean)
    AND (grants.dpop_jkt IS NULL OR grants.dpop_jkt = :dpopJkt::packed)`

// For a request that names neither scopes nor a resource.
const ANY_SCOPE = " AND string_to_array(grants.scopes, ' ') && :clientScopes::text[]"

const NEW_IDLE_TIME = 'refresh_expires_at = least(:at + :refreshIdle::bigint, grants.expires_at)'

const ROTATE = `
  UPDATE grants
  SET generation = grants.generation + 1, refresh_key_id = :refreshKeyId, rotated_at = :at, attempt_id = :attemptId::packed,
      ${NEW_IDLE_TIME}`

// The refresh token stays the same. Only its idle time starts again.
const KEEP = `
  UPDATE grants
  SET ${NEW_IDLE_TIME}`

// For a request that names scopes or a resource (rare): all of them were granted for the resource. Citus allows only immutable
// functions in a CASE, and so no `to_jsonb`.
const AT_RESOURCE = '(scopes_by_resource -> :resource::text)'
const SCOPES = "string_to_array(scopes, ' ')"
const NARROWED = `
    AND string_to_array(resources, ' ') @> :requestedResources::text[]
    AND CASE WHEN ${AT_RESOURCE} IS NULL THEN ${SCOPES} @> :requestedScopes::text[] AND ${SCOPES} && :clientScopes::text[]
             ELSE ${AT_RESOURCE} ?& :requestedScopes::text[] AND ${AT_RESOURCE} ?| :clientScopes::text[] END`

const ROTATION = {
  grantId: 'packed',
  clientId: 'packed',
  generation: 'integer',
  refreshKeyId: 'text',
  attemptId: 'packed',
  refreshIdle: 'bigint',
  walletChecked: 'boolean',
  dpopJkt: 'packed',
  // An array written as text, because unnest flattens arrays of arrays.
  clientScopes: 'text',
} as const

const READ = `SELECT ${COLUMNS}, :at AS at FROM grants WHERE grants.id = :grantId::packed`

// Ends the grant as it was read. If another request changed the row meanwhile, no row ends, and the refresh is tried again.
const END_AS_READ = `
  UPDATE grants SET ended_at = :at, end_reason = :reason
  WHERE id = :grantId::packed AND ended_at IS NULL AND generation = :generation
  RETURNING id`

/** `at`: the time of the read, by the clock that the store uses */
type TimedGrantRow = GrantRow & { at: number }

export function rotatingTokens(connection: PostgresConnection): Pick<GrantStore, 'rotateRefreshToken'> {
  const { rotate, rotateNarrowed, keep, keepNarrowed, read, end } = prepareRotation(connection)
  const confirm = prepareGrantConfirmation(connection)

  async function rotateOnce(rotation: Rotation): Promise<GrantRow | undefined> {
    const { scopes, clientScopes, resources, refreshExpiresAt, keepsToken, onlyChecks: _, ...named } = rotation
    const values = { ...named, clientScopes: textArray(clientScopes), refreshIdle: refreshExpiresAt - rotation.at }
    if (scopes.length + resources.length === 0) return (await (keepsToken ? keep : rotate)(values))[0]
    const narrowed = {
      ...values,
      requestedScopes: textArray(scopes),
      requestedResources: textArray(resources),
      resource: resources[0] ?? null,
    }
    return (await (keepsToken ? keepNarrowed : rotateNarrowed)(narrowed))[0]
  }

  /** Decides about the row as it is now. Returns null if another request changed the row meanwhile: the refresh is then tried again. */
  async function decideByRow(rotation: Rotation): Promise<RotateOutcome | null> {
    const { grantId, at } = rotation
    const [row] = await read({ grantId, at })
    if (!row) return { kind: 'unknown' }
    const decision = decideRotation(grantOf(row), unpack(row.attempt_id), { ...rotation, at: row.at })
    if (decision.change === 'none') return decision.outcome
    if (decision.change === 'rotate') return null
    const ended = await end({ grantId, generation: row.generation, reason: decision.reason, at })
    return ended.length > 0 ? decision.outcome : null
  }

  return {
    async rotateRefreshToken(rotation) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        const row = rotation.onlyChecks ? undefined : await rotateOnce(rotation)
        if (row) return { kind: 'rotated', grant: grantOf(row) }
        const outcome = await decideByRow(rotation)
        if (outcome?.kind === 'rotated' || outcome?.kind === 'repeated') await confirm(rotation)
        if (outcome) return outcome
      }
      throw new StoreUnavailable('other requests keep changing the grant')
    },
  }
}

function prepareRotation(connection: PostgresConnection) {
  const rotate = connection.prepareBatched<GrantRow>({
    kind: 'move',
    one: `${ROTATE}${REFRESHABLE}${ANY_SCOPE} RETURNING ${COLUMNS}`,
    forMany: `${UNLOCKED}${ROTATE} FROM input JOIN unlocked ON unlocked.id = :grantId::packed${REFRESHABLE}${ANY_SCOPE} RETURNING ${COLUMNS}`,
    parameters: ROTATION,
    place: GRANT_ID,
    column: 'id',
    skipsLocked: true,
  })
  const rotateNarrowed = connection.prepare<GrantRow>('move', `${ROTATE}${REFRESHABLE}${NARROWED} RETURNING ${COLUMNS}`, GRANT_ID)
  const keep = connection.prepare<GrantRow>('move', `${KEEP}${REFRESHABLE}${ANY_SCOPE} RETURNING ${COLUMNS}`, GRANT_ID)
  const keepNarrowed = connection.prepare<GrantRow>('move', `${KEEP}${REFRESHABLE}${NARROWED} RETURNING ${COLUMNS}`, GRANT_ID)
  const read = connection.prepare<TimedGrantRow>('read', READ, GRANT_ID)
  const end = connection.prepare<{ id: Uint8Array }>('move', END_AS_READ, GRANT_ID)
  return { rotate, rotateNarrowed, keep, keepNarrowed, read, end }
}
