/** Sessions on SQLite. */

import type { SessionLists } from '../../domain/model/operator-store.ts'
import type { Order } from '../../domain/model/pages.ts'
import type { Session } from '../../domain/model/records.ts'
import type { SessionStore } from '../../domain/model/request-store.ts'
import { LEAST, pack, unpack } from '../packed.ts'
import { newSessionRow, type SessionRow, sessionOf } from '../session-row.ts'
import type { SqliteConnection } from './connection.ts'

const COLUMNS =
  'hash, wallet, chain_id, is_vouched, is_contract, receipt_id, epoch, auth_time, last_seen_at, expires_at, elsewhere, browser, ended_at, replaced_by' as const

/** As in the index `sessions_by_end`. */
const ENDS_AT = 'coalesce(ended_at, expires_at)'
/** Before the first row of each order. */
const FIRST = {
  newest: { expiresAt: Number.MAX_SAFE_INTEGER, hash: LEAST },
  oldest: { expiresAt: 0, hash: LEAST },
}

const COUNT = `
  SELECT count(*) AS number FROM (SELECT 1 FROM sessions WHERE ${ENDS_AT} > :at AND ended_at IS NULL LIMIT :mostRows)`

function listOfAll(order: Order): string {
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  return `
    SELECT ${COLUMNS} FROM sessions
    WHERE ${ENDS_AT} > :at AND ended_at IS NULL AND ${ENDS_AT} ${beyond}= :expiresAt AND (${ENDS_AT}, hash) ${beyond} (:expiresAt, :hash)
    ORDER BY ${ENDS_AT} ${direction}, hash ${direction} LIMIT :limit`
}

export function createSessionStore(connection: SqliteConnection): SessionStore & SessionLists {
  const insert = connection.prepareWrite(`
    INSERT INTO sessions (hash, wallet, chain_id, is_vouched, is_contract, receipt_id, epoch, auth_time, last_seen_at, expires_at,
                          elsewhere, browser, attempt_id, ended_at, replaced_by)
    VALUES (:hash, :wallet, :chainId, :isVouched, :isContract, :receiptId, :epoch, :authTime, :lastSeenAt, :expiresAt,
            :elsewhere, :browser, :attemptId, :endedAt, :replacedBy)
    ON CONFLICT (hash) DO NOTHING`)
  const attempt = connection.prepareWrite('SELECT attempt_id FROM sessions WHERE hash = ?')
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM sessions WHERE hash = ?`)
  const touch = connection.prepareWrite(
    'UPDATE sessions SET last_seen_at = max(last_seen_at, :at) WHERE hash = :hash AND ended_at IS NULL',
  )
  const end = connection.prepareWrite(`
    UPDATE sessions SET ended_at = coalesce(ended_at, :at), attempt_id = :attemptId
    WHERE hash = :hash AND (ended_at IS NULL OR attempt_id = :attemptId)`)
  const replace = connection.prepareWrite(
    'UPDATE sessions SET ended_at = :at, replaced_by = :by WHERE hash = :hash AND ended_at IS NULL',
  )
  const list = (place: string) =>
    connection.prepareRead(`
      SELECT ${COLUMNS} FROM sessions WHERE wallet = :wallet AND ended_at IS NULL AND expires_at > :at${place}
      ORDER BY auth_time DESC, hash DESC LIMIT :limit`)
  const listFirst = list('')
  const listNext = list(' AND (auth_time, hash) < (:authTime, :hash)')
  return {
    ...listingSessions(connection),
    startSession: (session, attemptId) =>
      connection.write(() => {
        if (insert.run(parametersOf(session, attemptId)).changes > 0) return 'started'
        // If this attempt itself inserted the row and only the response was lost, this is not a second use.
        const row = attempt.get(pack(session.hash)) as { attempt_id: Uint8Array } | undefined
        return row && unpack(row.attempt_id) === attemptId ? 'started' : 'taken'
      }),
    readSession: (hash) =>
      connection.read(() => {
        const row = read.get(pack(hash))
        return row ? sessionOf(row as SessionRow) : null
      }),
    touchSession: (hash, at) => connection.write(() => void touch.run({ hash: pack(hash), at })),
    endSession: (hash, attemptId, at) =>
      connection.write(() =>
        end.run({ hash: pack(hash), attemptId: pack(attemptId), at }).changes > 0 ? 'ended' : 'ended_before',
      ),
    replaceSession: (hash, by, at) => connection.write(() => void replace.run({ hash: pack(hash), by: pack(by), at })),
    endSessions: (hashes, attemptId, at) =>
      connection.write(() => hashes.filter((hash) => end.run({ hash: pack(hash), attemptId: pack(attemptId), at }).changes > 0)),
    listSessions: (wallet, { at, limit, after }) =>
      connection.read(() => {
        const rows = after
          ? listNext.all({ wallet: pack(wallet), at, limit, authTime: after.authTime, hash: pack(after.hash) })
          : listFirst.all({ wallet: pack(wallet), at, limit })
        return rows.map((row) => sessionOf(row as SessionRow))
      }),
  }
}

/** The lists of all wallets. */
function listingSessions(connection: SqliteConnection): SessionLists {
  return {
    listAllSessions: ({ order, at, limit, after }) =>
      connection.read(() => {
        const place = after ? { expiresAt: after.expiresAt, hash: pack(after.hash) } : FIRST[order]
        const rows = connection.prepareRead(listOfAll(order)).all({ at, limit, ...place })
        return rows.map((row) => sessionOf(row as SessionRow))
      }),
    countSessions: (at, mostRows) =>
      connection.read(() => (connection.prepareRead(COUNT).get({ at, mostRows }) as { number: number }).number),
  }
}

/** SQLite has no booleans. */
function parametersOf(session: Session, attemptId: string) {
  const { isVouched, isContract, elsewhere, ...others } = newSessionRow(session, attemptId)
  return { ...others, isVouched: Number(isVouched), isContract: Number(isContract), elsewhere: Number(elsewhere) }
}
