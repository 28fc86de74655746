/** Sessions on PostgreSQL. */

import type { SessionLists } from '../../domain/model/operator-store.ts'
import type { Order } from '../../domain/model/pages.ts'
import type { SessionStore } from '../../domain/model/request-store.ts'
import { LEAST, unpack } from '../packed.ts'
import { newSessionRow, type SessionRow, sessionOf } from '../session-row.ts'
import { changeOfRows, prepareForEach } from './change-of-rows.ts'
import { prepareReadByKey } from './read-by-key.ts'
import type { PostgresConnection } from './statements/connection.ts'

const COLUMNS =
  'sessions.hash, wallet, chain_id, is_vouched, is_contract, receipt_id, epoch, auth_time, last_seen_at, expires_at, elsewhere, browser, ended_at, replaced_by' as const

const SESSION = { table: 'sessions', key: 'hash' } as const

const INSERT = `INSERT INTO sessions (hash, wallet, chain_id, is_vouched, is_contract, receipt_id, epoch, auth_time, last_seen_at, expires_at,
                      elsewhere, browser, attempt_id, ended_at, replaced_by)
VALUES (:hash::packed, :wallet::packed, :chainId, :isVouched, :isContract, :receiptId::packed, :epoch, :authTime, :lastSeenAt, :expiresAt,
        :elsewhere, :browser, :attemptId::packed, :endedAt, :replacedBy::packed)
ON CONFLICT (hash) DO NOTHING
RETURNING hash`

// A repeated attempt changes the rows that it ended the first time again, so that it returns them too.
const END = changeOfRows({
  table: 'sessions',
  key: ['hash'],
  set: 'ended_at = least(ended_at, :at), attempt_id = :attemptId::packed',
  condition: 'sessions.ended_at IS NULL OR sessions.attempt_id = :attemptId::packed',
  parameters: { attemptId: 'packed' },
})

/** A cursor before the youngest session. */
const FIRST = { authTime: Number.MAX_SAFE_INTEGER, hash: LEAST }

/** As in the index `sessions_by_end`. */
const ENDS_AT = 'coalesce(ended_at, expires_at)'
/** Before the first row of each order. */
const FIRST_ENDING = {
  newest: { expiresAt: Number.MAX_SAFE_INTEGER, hash: LEAST },
  oldest: { expiresAt: 0, hash: LEAST },
}

const SESSIONS = { table: 'sessions' } as const
const COUNT = `
  SELECT count(*) AS number FROM (SELECT hash FROM sessions WHERE ${ENDS_AT} > :at AND ended_at IS NULL LIMIT :mostRows) AS counted`

function listOfAll(order: Order): string {
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  return `
    SELECT ${COLUMNS} FROM sessions
    WHERE ${ENDS_AT} > :at AND ended_at IS NULL AND ${ENDS_AT} ${beyond}= :expiresAt::bigint
      AND (${ENDS_AT}, hash) ${beyond} (:expiresAt::bigint, :hash::packed)
    ORDER BY ${ENDS_AT} ${direction}, hash ${direction} LIMIT :limit`
}

export function createSessionStore(connection: PostgresConnection): SessionStore & SessionLists {
  const insert = connection.prepare('move', INSERT, SESSION)
  const attempt = connection.prepare<{ attempt_id: Uint8Array }>(
    'read',
    'SELECT attempt_id FROM sessions WHERE hash = :hash::packed',
    SESSION,
  )
  const read = prepareReadByKey<SessionRow>(connection, SESSION, COLUMNS)
  const touch = connection.prepare(
    'move',
    'UPDATE sessions SET last_seen_at = greatest(last_seen_at, :at) WHERE hash = :hash::packed AND ended_at IS NULL',
    SESSION,
  )
  const end = prepareForEach<{ hash: Uint8Array }>(connection, END)
  const confirm = connection.prepareConfirmation('sessions WHERE hash = :hash::packed', SESSION)
  const replace = connection.prepare(
    'move',
    'UPDATE sessions SET ended_at = :at, replaced_by = :by::packed WHERE hash = :hash::packed AND ended_at IS NULL RETURNING hash',
    SESSION,
  )
  const list = connection.prepare<SessionRow>(
    'read',
    `SELECT ${COLUMNS} FROM sessions
     WHERE wallet = :wallet::packed AND ended_at IS NULL AND expires_at > :at AND (auth_time, hash) < (:authTime::bigint, :hash::packed)
     ORDER BY auth_time DESC, hash DESC LIMIT :limit`,
    SESSIONS,
  )
  async function endAll(hashes: readonly string[], attemptId: string, at: number): Promise<string[]> {
    const instance = await connection.readInstance()
    const ended = new Set((await end(hashes.map((hash) => ({ hash, attemptId, at })))).map(({ hash }) => unpack(hash)))
    await Promise.all(hashes.filter((hash) => !ended.has(hash)).map((hash) => confirm({ hash }, instance)))
    return [...ended]
  }
  return {
    async startSession(session, attemptId) {
      if ((await insert(newSessionRow(session, attemptId))).length > 0) return 'started'
      // The session may be this attempt's own, if the response was lost.
      const [row] = await attempt({ hash: session.hash })
      if (!row || unpack(row.attempt_id) !== attemptId) return 'taken'
      await confirm({ hash: session.hash })
      return 'started'
    },
    async readSession(hash) {
      const [row] = await read({ hash })
      return row ? sessionOf(row) : null
    },
    touchSession: async (hash, at) => void (await touch({ hash, at })),
    endSession: async (hash, attemptId, at) => ((await endAll([hash], attemptId, at)).length > 0 ? 'ended' : 'ended_before'),
    async replaceSession(hash, by, at) {
      if ((await replace({ hash, by, at })).length === 0) await confirm({ hash })
    },
    endSessions: endAll,
    ...listingSessions(connection),
    listSessions: async (wallet, { after = FIRST, ...page }) => (await list({ wallet, ...page, ...after })).map(sessionOf),
  }
}

/** The lists of all wallets. */
function listingSessions(connection: PostgresConnection): SessionLists {
  return {
    async listAllSessions({ order, after = FIRST_ENDING[order], ...page }) {
      const rows = connection.prepare<SessionRow>('read', listOfAll(order), SESSIONS)
      return (await rows({ ...page, expiresAt: after.expiresAt, hash: after.hash })).map(sessionOf)
    },
    async countSessions(at, mostRows) {
      const count = connection.prepare<{ number: number }>('read', COUNT, SESSIONS)
      return (await count({ at, mostRows }))[0]?.number ?? 0
    },
  }
}
