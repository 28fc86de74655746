/** The rotation of a refresh token on SQLite: one transaction, which reads the grant, decides, and updates it. */

import { grantedAt } from '../../domain/model/granted-scopes.ts'
import type { Grant } from '../../domain/model/records.ts'
import { type GrantStore, LATE_BY_AT_MOST, type RotateOutcome, type Rotation } from '../../domain/model/request-store.ts'
import type { Connection } from './connection.ts'
import { attemptOf, grantOf } from './grant-row.ts'
import { END, preparePresent } from './grant-statements.ts'

// The parameters have positions and not names: SQLite binds them in a fifth less time.
const ROTATE = `
  UPDATE grants SET generation = ?, refresh_key_id = ?, rotated_at = ?, attempt_id = ?, refresh_expires_at = ?
  WHERE id = ?`

// The refresh token stays the same, so only its idle time is extended.
const KEEP = 'UPDATE grants SET refresh_expires_at = ? WHERE id = ?'

/**
 * A read, a decision in TypeScript and an update take half as long as one conditional update that returns the row (4.8 and 9.7 µs). No
 * other write can come in between, because SQLite has one writer at a time.
 */
export function rotatingTokens(connection: Connection): Pick<GrantStore, 'rotateRefreshToken'> {
  const present = preparePresent(connection)
  const rotate = prepareRotation(connection)
  const end = connection.prepareWrite(END)
  return {
    rotateRefreshToken: (rotation) =>
      connection.writeByOne((): RotateOutcome => {
        const row = present(rotation.grantId)
        if (!row) return { kind: 'unknown' }
        const grant = grantOf(row)
        const outcome = decide(grant, rotation, attemptOf(row))
        if (outcome === 'rotated') return { kind: 'rotated', grant: rotate(grant, rotation) }
        if (outcome.kind === 'replayed' || outcome.kind === 'newer_than_row') {
          const reason = outcome.kind === 'replayed' ? 'refresh_replayed' : 'refresh_newer_than_row'
          end.run({ grantId: grant.id, clientId: null, at: rotation.at, reason })
        }
        return outcome
      }),
  }
}

/** Updates the row. Returns the grant as it is now. If the client keeps its refresh token, only the idle time changes. */
function prepareRotation(connection: Connection): (grant: Grant, rotation: Rotation) => Grant {
  const rotate = connection.prepareWrite(ROTATE)
  const keep = connection.prepareWrite(KEEP)
  return (grant, { keepsToken, refreshKeyId, attemptId, at, refreshExpiresAt: requested }) => {
    const refreshExpiresAt = Math.min(requested, grant.expiresAt)
    if (keepsToken) {
      keep.run(refreshExpiresAt, grant.id)
      return { ...grant, refreshExpiresAt }
    }
    const generation = grant.generation + 1
    rotate.run(generation, refreshKeyId, at, attemptId, refreshExpiresAt, grant.id)
    return { ...grant, generation, refreshKeyId, rotatedAt: at, refreshExpiresAt }
  }
}

/** Whether the token may be rotated, or the outcome without a rotation. */
function decide(grant: Grant, rotation: Rotation, lastAttempt: string): 'rotated' | RotateOutcome {
  if (grant.clientId !== rotation.clientId) return { kind: 'foreign' }
  if (grant.endedAt !== null) return { kind: 'ended' }
  if (grant.dpopJkt !== null && grant.dpopJkt !== rotation.dpopJkt) return { kind: 'wrong_key' }
  const step = grant.generation - rotation.generation
  // This attempt's own update, whose response was lost.
  if (step === 1 && lastAttempt === rotation.attemptId) return { kind: 'rotated', grant }
  if (grant.refreshExpiresAt <= rotation.at) return { kind: 'expired' }
  if (step !== 0 && !(step === 1 && isWithinWindow(grant, rotation)))
    return { kind: step > 0 ? 'replayed' : 'newer_than_row', grant }
  const granted = grantedAt(grant, rotation.resources[0])
  if (rotation.resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' }
  if (!granted.some((scope) => rotation.clientScopes.includes(scope))) return { kind: 'no_scope_left' }
  if (rotation.scopes.some((scope) => !granted.includes(scope))) return { kind: 'scope_not_granted' }
  if (grant.walletKind === 'contract' && !rotation.walletChecked) return { kind: 'wallet_unchecked', grant }
  if (rotation.onlyChecks) return { kind: 'may_rotate', grant }
  return step === 0 ? 'rotated' : { kind: 'repeated', grant }
}

/** A stored time in the future closes the window, so that a clock that jumped back cannot reopen it. */
function isWithinWindow({ rotatedAt }: Grant, { at, retryWindow }: Rotation): boolean {
  return rotatedAt <= at + LATE_BY_AT_MOST && at < rotatedAt + retryWindow
}
