/** The rotation of a refresh token on SQLite: one transaction, which reads the grant, decides (`decideRotation`), and updates the grant. */

import type { Grant } from '../../domain/model/records.ts'
import type { GrantStore, RotateOutcome, Rotation } from '../../domain/model/request-store.ts'
import { decideRotation } from '../../domain/model/rotation.ts'
import { pack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
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
export function rotatingTokens(connection: SqliteConnection): Pick<GrantStore, 'rotateRefreshToken'> {
  const present = preparePresent(connection)
  const rotate = prepareRotation(connection)
  const end = connection.prepareWrite(END)
  return {
    rotateRefreshToken: (rotation) =>
      connection.writeByOne((): RotateOutcome => {
        const id = pack(rotation.grantId)
        const row = present(id)
        if (!row) return { kind: 'unknown' }
        const grant = grantOf(row)
        const decision = decideRotation(grant, attemptOf(row), rotation)
        if (decision.change === 'rotate') return { kind: 'rotated', grant: rotate(grant, id, rotation) }
        if (decision.change === 'end') end.run({ grantId: id, clientId: null, at: rotation.at, reason: decision.reason })
        return decision.outcome
      }),
  }
}

/** Updates the row. Returns the grant as it is now. If the client keeps its refresh token, only the idle time changes. */
function prepareRotation(connection: SqliteConnection): (grant: Grant, id: Uint8Array, rotation: Rotation) => Grant {
  const rotate = connection.prepareWrite(ROTATE)
  const keep = connection.prepareWrite(KEEP)
  return (grant, id, { keepsToken, refreshKeyId, attemptId, at, refreshExpiresAt: requested }) => {
    const refreshExpiresAt = Math.min(requested, grant.expiresAt)
    if (keepsToken) {
      keep.run(refreshExpiresAt, id)
      return { ...grant, refreshExpiresAt }
    }
    const generation = grant.generation + 1
    rotate.run(generation, refreshKeyId, at, pack(attemptId), refreshExpiresAt, id)
    return { ...grant, generation, refreshKeyId, rotatedAt: at, refreshExpiresAt }
  }
}
