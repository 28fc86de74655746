/** What the statements on `grants` share. */

import type { GrantValidity } from '../../domain/model/request-store.ts'
import { unpack } from '../packed.ts'
import { COLUMNS, drawnOf, type GrantRow } from './grant-row.ts'
import { prepareReadByKey } from './read-by-key.ts'
import type { PostgresConnection } from './statements/connection.ts'

/** The row that most statements here concern. */
export const GRANT_ID = { table: 'grants', key: 'grantId' } as const
/** The same row, if the parameter has the name of the column. */
const GRANT = { table: 'grants', key: 'id' } as const

/**
 * The attempt id of a reserved row, one that no attempt has redeemed yet. A redemption reserves the row, reads the epoch and the
 * session, and claims the row. An ending raises the epoch and then ends the rows it finds, reserved ones included, so an epoch
 * that is read after the reservation misses no ending. A failure before the claim leaves a row that the client's retry can claim
 * (docs/decisions/0016-repeated-requests.md).
 */
export const RESERVED = ''

export const isReserved = (row: Pick<GrantRow, 'attempt_id' | 'ended_at'>): boolean =>
  unpack(row.attempt_id) === RESERVED && row.ended_at === null

// A row that another transaction has locked is skipped, so that no statement over many rows waits for a lock.
export const UNLOCKED = `,
  unlocked AS (SELECT grants.id FROM input JOIN grants ON grants.id = :grantId::packed FOR NO KEY UPDATE OF grants SKIP LOCKED)`

/** How often a change is tried again because another request changed the row meanwhile. Each time, one of the requests has succeeded. */
export const TRIES_AT_MOST = 20

/** Prepares the confirmation that what was found in the row of a grant is durable. */
export function prepareGrantConfirmation(connection: PostgresConnection): ReturnType<PostgresConnection['prepareConfirmation']> {
  return connection.prepareConfirmation('grants WHERE id = :grantId::packed', GRANT_ID)
}

/** Prepares the read of one grant. */
export function prepareReadOfGrant(connection: PostgresConnection) {
  return prepareReadByKey<GrantRow>(connection, GRANT, COLUMNS)
}

const VALIDITY = [
  'id',
  'client_id',
  'expires_at',
  'ended_at',
  'revoked_tokens',
  'attempt_id',
  'signed_limit',
  'drawn_from',
  'drawn_uses',
  'drawn_amount',
  'draw_count',
] as const satisfies (keyof GrantRow)[]

export const VALIDITY_COLUMNS = VALIDITY.map((name) => `grants.${name}`).join(', ')
export type ValidityRow = Pick<GrantRow, (typeof VALIDITY)[number]>

/** null for a row that no attempt has redeemed. */
export function validityOf(row: ValidityRow): GrantValidity | null {
  if (isReserved(row)) return null
  return {
    clientId: unpack(row.client_id),
    expiresAt: row.expires_at,
    endedAt: row.ended_at,
    revokedTokens: row.revoked_tokens,
    signedLimit: row.signed_limit,
    drawn: drawnOf(row),
  }
}

/** Prepares the read of `GrantValidity`, a third of the row's bytes. */
export function prepareReadOfValidity(connection: PostgresConnection) {
  return prepareReadByKey<ValidityRow>(connection, GRANT, VALIDITY_COLUMNS)
}

const END = `
  UPDATE grants SET ended_at = :at, end_reason = :reason`
const ENDABLE = `
  WHERE grants.id = :grantId::packed AND grants.ended_at IS NULL
    AND (:clientId::packed IS NULL OR grants.client_id = :clientId::packed)`

/** Prepares the ending of one grant. Returns no row if the grant has ended before or belongs to another client. */
export function prepareEndOfGrant(connection: PostgresConnection) {
  return connection.prepareBatched<{ id: Uint8Array }>({
    kind: 'move',
    one: `${END}${ENDABLE} RETURNING id`,
    // Only a row that changes is locked: a lock is written to the disk too.
    forMany: `,
  unlocked AS (SELECT grants.id FROM input, grants ${ENDABLE} FOR NO KEY UPDATE OF grants SKIP LOCKED)
  ${END} FROM input JOIN unlocked ON unlocked.id = :grantId::packed
  WHERE grants.id = unlocked.id RETURNING grants.id`,
    parameters: { grantId: 'packed', reason: 'text', clientId: 'packed' },
    place: GRANT_ID,
    column: 'id',
    skipsLocked: true,
  })
}
