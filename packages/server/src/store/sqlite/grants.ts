/**
 * The grant ledger on SQLite. `domain/model/request-store.ts` describes what each method promises; this file implements it with
 * conditions on one row, or with a read and an update in one transaction.
 */

import { explainUnended, explainUnrevoked } from '../../domain/model/ended-grants.ts'
import type { GrantLists } from '../../domain/model/operator-store.ts'
import type { Grant } from '../../domain/model/records.ts'
import {
  type GrantStore,
  type GrantValidity,
  REVOKED_AT_MOST,
  type RevokeTokenOutcome,
} from '../../domain/model/request-store.ts'
import { pack, packNullable } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
import { listingGrants } from './grant-lists.ts'
import { COLUMNS, grantOf } from './grant-row.ts'
import { END, preparePresent, READ_VALIDITY, rowOf, validityOf } from './grant-statements.ts'
import { redeemingCodes } from './redemption.ts'
import { rotatingTokens } from './rotation.ts'

// Removes expired entries and adds the new one. If there is no space for it, the grant ends instead. A repeated revocation changes no row.
const REVOKE_TOKEN = `
  UPDATE grants
  SET revoked_tokens = (
        SELECT json_group_object(key, value) FROM (
          SELECT key, value FROM json_each(grants.revoked_tokens) WHERE value > :at AND key <> :jti
          UNION ALL SELECT :jti, :expiresAt)),
      ended_at = CASE WHEN full THEN :at END,
      end_reason = CASE WHEN full THEN 'too_many_revoked_tokens' END
  FROM (SELECT count(*) >= ${REVOKED_AT_MOST} AS full
        FROM grants AS present, json_each(present.revoked_tokens) AS revoked
        WHERE present.id = :grantId AND revoked.value > :at AND revoked.key <> :jti)
  WHERE id = :grantId AND client_id = :clientId AND ended_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM json_each(grants.revoked_tokens) WHERE key = :jti)
  RETURNING ended_at`

export function createGrantStore(connection: SqliteConnection): GrantStore & GrantLists {
  const revokeToken = connection.prepareWrite(REVOKE_TOKEN)
  const noteToken = connection.prepareWrite("INSERT INTO endings (at, kind, key) VALUES (?, 'token', ?)")
  const end = connection.prepareWrite(END)
  const present = preparePresent(connection)
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM grants WHERE id = ?`)
  read.setReturnArrays(true)
  const readValidity = connection.prepareRead(READ_VALIDITY)
  readValidity.setReturnArrays(true)

  return {
    ...redeemingCodes(connection),
    ...rotatingTokens(connection),
    ...listingGrants(connection),

    endGrant: (grantId, reason, at, clientId) =>
      connection.writeByOne(() => {
        const id = pack(grantId)
        if (end.run({ grantId: id, reason, at, clientId: packNullable(clientId ?? null) }).changes > 0) return 'ended'
        const row = present(id)
        return explainUnended(row && grantOf(row), clientId)
      }),

    revokeAccessToken: (token) =>
      connection.write((): RevokeTokenOutcome => {
        const grantId = pack(token.grantId)
        const row = revokeToken.get({ ...token, grantId, clientId: pack(token.clientId) }) as
          | { ended_at: number | null }
          | undefined
        if (row?.ended_at === null) noteToken.run(token.at, grantId)
        if (row) return row.ended_at === null ? 'revoked' : 'grant_ended'
        const found = present(grantId)
        return explainUnrevoked(found && grantOf(found), token.clientId)
      }),

    readGrant: (grantId) =>
      connection.read((): Grant | null => {
        const row = rowOf(read, pack(grantId))
        return row ? grantOf(row) : null
      }),

    readGrantValidity: (grantId) =>
      connection.read((): GrantValidity | null => {
        const row = rowOf(readValidity, pack(grantId))
        return row ? validityOf(row) : null
      }),
  }
}
