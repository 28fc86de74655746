/** The grant ledger on PostgreSQL. `domain/model/request-store.ts` documents what each method promises; one statement on one row decides it here. */
import { explainUnended, explainUnrevoked } from '../../domain/model/ended-grants.ts'
import { TOKEN_LIFETIME_AT_MOST } from '../../domain/model/ending-store.ts'
import type { GrantLists } from '../../domain/model/operator-store.ts'
import { type GrantStore, REVOKED_AT_MOST, type RevokeTokenOutcome } from '../../domain/model/request-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { unpack } from '../packed.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import { listingGrants } from './grant-lists.ts'
import { grantOf } from './grant-row.ts'
import {
  GRANT_ID,
  isReserved,
  prepareEndOfGrant,
  prepareGrantConfirmation,
  prepareReadOfGrant,
  prepareReadOfValidity,
  TRIES_AT_MOST,
  validityOf,
} from './grant-statements.ts'
import { redeemingCodes } from './redemption.ts'
import { RepeatedChanges } from './repeated-changes.ts'
import { rotatingTokens } from './rotation.ts'
import type { PostgresConnection } from './statements/connection.ts'

const STILL_REVOKED = 'FROM jsonb_each(grants.revoked_tokens) WHERE value::bigint > :at AND key <> :jti::text'

// Removes expired tokens and adds the new one. The statement computes everything from the row, so that two simultaneous revocations
// of one grant both take effect. A repeated revocation changes no row.
const REVOKE_TOKEN = `
  UPDATE grants
  SET revoked_tokens = (SELECT coalesce(jsonb_object_agg(key, value), '{}') ${STILL_REVOKED})
                       || jsonb_build_object(:jti::text, :expiresAt::bigint)`
const REVOCABLE = `
  WHERE grants.id = :grantId::packed AND grants.client_id = :clientId::packed AND grants.ended_at IS NULL AND NOT grants.revoked_tokens ? :jti::text
    AND (SELECT count(*) ${STILL_REVOKED}) < ${REVOKED_AT_MOST}`

// The row for `EndingStore`, which also names the grant. An index on the time of the revocation in the row of the grant would make every
// revocation write all indexes of the grant.
const NOTE_TOKEN = 'INSERT INTO spent (hash, kind, expires_at, attempt_id)'
const NOTED_AGAIN = 'ON CONFLICT (hash, kind) DO UPDATE SET expires_at = excluded.expires_at'
const NOTED = `${SPENT_KINDS.token}, :at + ${TOKEN_LIFETIME_AT_MOST}`

// Both rows in one statement. On several machines they are two statements.
const REVOKE_AND_NOTE_TOKEN = {
  one: `
  WITH revoked AS (${REVOKE_TOKEN}${REVOCABLE} RETURNING id),
    noted AS (${NOTE_TOKEN} SELECT :jti::packed, ${NOTED}, id FROM revoked ${NOTED_AGAIN})
  SELECT id FROM revoked`,
  // Only a row that changes is locked: a lock is written to the disk too.
  forMany: `,
  unlocked AS (SELECT grants.id FROM input, grants ${REVOCABLE} FOR NO KEY UPDATE OF grants SKIP LOCKED),
  revoked AS (
    ${REVOKE_TOKEN} FROM input JOIN unlocked ON unlocked.id = :grantId::packed
    WHERE grants.id = unlocked.id
    RETURNING grants.id, :notedJti AS jti, :at + ${TOKEN_LIFETIME_AT_MOST} AS expires_at),
  noted AS (${NOTE_TOKEN} SELECT jti, ${SPENT_KINDS.token}, expires_at, id FROM revoked ${NOTED_AGAIN})
  SELECT id FROM revoked`,
  parameters: { grantId: 'packed', clientId: 'packed', jti: 'text', notedJti: 'packed', expiresAt: 'bigint' },
} as const

// Ends the grant if its list of revoked tokens is full. A separate statement, because this is rare and Citus does not allow a clock
// inside CASE.
const END_FULL = `
  UPDATE grants SET ended_at = :at, end_reason = 'too_many_revoked_tokens'
  WHERE id = :grantId::packed AND client_id = :clientId::packed AND ended_at IS NULL
    AND (SELECT count(*) ${STILL_REVOKED}) >= ${REVOKED_AT_MOST}
  RETURNING id`

type EndOutcome = Awaited<ReturnType<GrantStore['endGrant']>>

const REPEATED_REVOCATION = {
  revoked: 'revoked_before',
  revoked_before: 'revoked_before',
  grant_ended: 'grant_ended_before',
  grant_ended_before: 'grant_ended_before',
} as const

type Owned = { client_id: Uint8Array; ended_at: number | null }
type RevocableGrant = Owned & { is_revoked: boolean }

const ownedOf = (row: Owned) => ({ clientId: unpack(row.client_id), endedAt: row.ended_at })

export function createGrantStore(connection: PostgresConnection): GrantStore & GrantLists {
  const revokeToken = prepareRevocation(connection)
  const endFull = connection.prepare<{ id: Uint8Array }>('move', END_FULL, GRANT_ID)
  const read = prepareReadOfGrant(connection)
  const readValidity = prepareReadOfValidity(connection)
  const present = prepareReadOfState(connection)
  const confirm = prepareGrantConfirmation(connection)

  const revocations = new RepeatedChanges<RevokeTokenOutcome>(REPEATED_REVOCATION)
  const revokeAccessToken = async (token: TokenOfGrant): Promise<RevokeTokenOutcome> => {
    const { grantId, clientId, jti, at } = token
    for (let left = TRIES_AT_MOST; left > 0; left--) {
      if ((await revokeToken(token)).length > 0) return 'revoked'
      const [row] = await present({ grantId, jti })
      const reason = explainUnrevoked(row && ownedOf(row), clientId)
      if (reason === 'unknown' || reason === 'foreign') return reason
      if (reason === 'grant_ended_before' || row?.is_revoked) {
        await confirm({ grantId })
        return reason
      }
      if ((await endFull({ grantId, clientId, jti, at })).length > 0) return 'grant_ended'
      // Meanwhile a revoked token has expired, so the list has room again.
    }
    throw new StoreUnavailable('other requests keep changing the grant')
  }

  return {
    ...redeemingCodes(connection),
    ...rotatingTokens(connection),
    ...listingGrants(connection),
    ...endingOneGrant(connection),

    revokeAccessToken: (token) =>
      revocations.run(`${token.grantId} ${token.clientId} ${token.jti}`, () => revokeAccessToken(token)),

    async readGrant(grantId) {
      const [row] = await read({ id: grantId })
      return row && !isReserved(row) ? grantOf(row) : null
    },

    async readGrantValidity(grantId) {
      const [row] = await readValidity({ id: grantId })
      return row ? validityOf(row) : null
    },
  }
}

function endingOneGrant(connection: PostgresConnection): Pick<GrantStore, 'endGrant'> {
  const end = prepareEndOfGrant(connection)
  const owner = connection.prepare<Owned>('read', 'SELECT client_id, ended_at FROM grants WHERE id = :id::packed', {
    table: 'grants',
    key: 'id',
  })
  const confirm = prepareGrantConfirmation(connection)
  const endings = new RepeatedChanges<EndOutcome>({ ended: 'ended_before', ended_before: 'ended_before' })
  const endGrant = async (...[grantId, reason, at, clientId]: Parameters<GrantStore['endGrant']>): Promise<EndOutcome> => {
    for (let left = TRIES_AT_MOST; left > 0; left--) {
      if ((await end({ grantId, reason, at, clientId: clientId ?? null })).length > 0) return 'ended'
      const [row] = await owner({ id: grantId })
      const outcome = explainUnended(row && ownedOf(row), clientId)
      if (outcome !== 'ended_before') return outcome
      // A standby was promoted meanwhile, and lacks the ending that the first statement found.
      if (row?.ended_at === null) continue
      await confirm({ grantId })
      return outcome
    }
    throw new StoreUnavailable('other requests keep changing the grant')
  }
  return { endGrant: (...call) => endings.run(`${call[0]} ${call[3] ?? ''}`, () => endGrant(...call)) }
}

function prepareReadOfState(connection: PostgresConnection) {
  return connection.prepare<RevocableGrant>(
    'read',
    'SELECT client_id, ended_at, revoked_tokens ? :jti::text AS is_revoked FROM grants WHERE id = :grantId::packed',
    GRANT_ID,
  )
}

type TokenOfGrant = Parameters<GrantStore['revokeAccessToken']>[0]

/** Returns a function that revokes one token, and returns no row if the grant was not changed. */
function prepareRevocation(connection: PostgresConnection): (token: TokenOfGrant) => Promise<unknown[]> {
  const revoke = connection.prepare('move', `${REVOKE_TOKEN}${REVOCABLE} RETURNING id`, GRANT_ID)
  const note = connection.prepare('move', `${NOTE_TOKEN} VALUES (:jti::packed, ${NOTED}, :grantId::packed) ${NOTED_AGAIN}`, {
    table: 'spent',
    key: 'jti',
  })
  const present = prepareReadOfState(connection)
  const together = { ...REVOKE_AND_NOTE_TOKEN, kind: 'move', place: GRANT_ID, column: 'id', skipsLocked: true } as const
  const revokeAndNote = connection.prepareTogether(together, async (named) => {
    const token = named as TokenOfGrant
    // A repeated revocation writes nothing.
    const [row] = await present(token)
    if (!row || unpack(row.client_id) !== token.clientId || row.ended_at !== null || row.is_revoked) return []
    // The note comes first. If the process fails in between, the note is needless and harmless.
    await note(token)
    return revoke(token)
  })
  return (token) => revokeAndNote({ ...token, notedJti: token.jti })
}
