/** The rotation of a refresh token on SQLite: one conditional update, and a read that explains why no row changed. */

import { grantedAt } from '../../domain/model/granted-scopes.ts'
import type { Grant } from '../../domain/model/records.ts'
import { type GrantStore, LATE_BY_AT_MOST, type RotateOutcome, type Rotation } from '../../domain/model/request-store.ts'
import type { Connection } from './connection.ts'
import { attemptOf, COLUMNS, type GrantRow, grantOf } from './grant-row.ts'
import { END, preparePresent } from './grant-statements.ts'

// The condition under which a row may be refreshed, shared by both updates.
const REFRESHABLE = `
  WHERE id = :grantId AND client_id = :clientId AND generation = :generation
    AND ended_at IS NULL AND refresh_expires_at > :at AND (wallet_kind = 'ordinary' OR :walletChecked = 1)
    AND (dpop_jkt IS NULL OR dpop_jkt = :dpopJkt)
    AND EXISTS (SELECT 1 FROM json_each(grants.scopes) AS granted, json_each(:clientScopes) AS may WHERE granted.value = may.value)`

const ROTATE = `
  UPDATE grants
  SET generation = generation + 1, refresh_key_id = :refreshKeyId, rotated_at = :at, attempt_id = :attemptId,
      refresh_expires_at = min(:refreshExpiresAt, expires_at)${REFRESHABLE}`

// The refresh token stays the same, so only its idle time is extended.
const KEEP = `
  UPDATE grants
  SET refresh_expires_at = min(:refreshExpiresAt, expires_at)${REFRESHABLE}`

// For requests with fewer scopes or one resource, which are rare: the row changes only if everything requested was
// granted for the resource.
const GRANTED_AT = 'coalesce((SELECT value FROM json_each(grants.scopes_by_resource) WHERE key = :resource), grants.scopes)'
const NARROWED = `
    AND EXISTS (SELECT 1 FROM json_each(${GRANTED_AT}) AS granted, json_each(:clientScopes) AS may WHERE granted.value = may.value)
    AND NOT EXISTS (SELECT 1 FROM json_each(:scopes) AS asked
                    WHERE asked.value NOT IN (SELECT value FROM json_each(${GRANTED_AT})))
    AND NOT EXISTS (SELECT 1 FROM json_each(:resources) AS asked
                    WHERE asked.value NOT IN (SELECT value FROM json_each(grants.resources)))`

export function rotatingTokens(connection: Connection): Pick<GrantStore, 'rotateRefreshToken'> {
  const rotateRow = prepareRotation(connection)
  const whyNotRotated = explainingRefusals(connection)
  return {
    rotateRefreshToken: (rotation) =>
      connection.writeByOne((): RotateOutcome => {
        const row = rotateRow(rotation)
        return row ? { kind: 'rotated', grant: grantOf(row) } : whyNotRotated(rotation)
      }),
  }
}

/**
 * The conditional update, narrowed if the request names scopes or a resource. If the client keeps its refresh
 * token, the update does not rotate it.
 */
function prepareRotation(connection: Connection): (rotation: Rotation) => GrantRow | undefined {
  const rotate = connection.prepareWrite(`${ROTATE} RETURNING ${COLUMNS}`)
  const rotateNarrowed = connection.prepareWrite(`${ROTATE}${NARROWED} RETURNING ${COLUMNS}`)
  const keep = connection.prepareWrite(`${KEEP} RETURNING ${COLUMNS}`)
  const keepNarrowed = connection.prepareWrite(`${KEEP}${NARROWED} RETURNING ${COLUMNS}`)
  for (const statement of [rotate, rotateNarrowed, keep, keepNarrowed]) statement.setReturnArrays(true)
  return (rotation) => {
    const { retryWindow: _, scopes, resources, walletChecked, keepsToken, refreshKeyId, attemptId, ...rest } = rotation
    const named = {
      ...rest,
      ...(keepsToken ? {} : { refreshKeyId, attemptId }),
      walletChecked: walletChecked ? 1 : 0,
      clientScopes: JSON.stringify(rotation.clientScopes),
    }
    if (scopes.length + resources.length === 0) return (keepsToken ? keep : rotate).get(named) as GrantRow | undefined
    const lists = { scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) }
    const narrowed = { ...named, ...lists, resource: resources[0] ?? null }
    return (keepsToken ? keepNarrowed : rotateNarrowed).get(narrowed) as GrantRow | undefined
  }
}

/**
 * Why the conditional update changed no row. The reason is determined here, in the same transaction; the caller
 * refuses the request.
 */
function explainingRefusals(connection: Connection): (rotation: Rotation) => RotateOutcome {
  const present = preparePresent(connection)
  const end = connection.prepareWrite(END)
  return (rotation) => {
    const row = present(rotation.grantId)
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
      const granted = grantedAt(grant, rotation.resources[0])
      if (rotation.resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' }
      if (!granted.some((scope) => rotation.clientScopes.includes(scope))) return { kind: 'no_scope_left' }
      if (rotation.scopes.some((scope) => !granted.includes(scope))) return { kind: 'scope_not_granted' }
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
}

/** A stored time in the future closes the window, so that a clock that jumped back cannot reopen it. */
function isWithinWindow({ rotatedAt }: Grant, { at, retryWindow }: Rotation): boolean {
  return rotatedAt <= at + LATE_BY_AT_MOST && at < rotatedAt + retryWindow
}
