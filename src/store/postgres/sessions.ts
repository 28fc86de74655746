/** Sessions on PostgreSQL. */
import type { Session } from '../../grants/model.ts'
import type { SessionBook } from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'

type SessionRow = {
  hash: string
  wallet: string
  chain_id: number
  method: string
  wallet_kind: string
  receipt_id: string | null
  epoch: number
  auth_time: number
  last_seen_at: number
  expires_at: number
  ended_at: number | null
}

const COLUMNS =
  'hash, wallet, chain_id, method, wallet_kind, receipt_id, epoch, auth_time, last_seen_at, expires_at, ended_at' as const

export function createSessionBook(connection: Connection): SessionBook {
  const insert = connection.prepare(
    'move',
    `INSERT INTO sessions (hash, wallet, chain_id, method, wallet_kind, receipt_id, epoch, auth_time, last_seen_at, expires_at,
                           attempt_id, ended_at)
     VALUES (:hash, :wallet, :chainId, :method, :walletKind, :receiptId, :epoch, :authTime, :lastSeenAt, :expiresAt,
             :attemptId, :endedAt)
     ON CONFLICT (hash) DO NOTHING
     RETURNING hash`,
  )
  const attempt = connection.prepare<{ attempt_id: string }>('read', 'SELECT attempt_id FROM sessions WHERE hash = :hash')
  const read = connection.prepare<SessionRow>('read', `SELECT ${COLUMNS} FROM sessions WHERE hash = :hash`)
  const touch = connection.prepare(
    'move',
    'UPDATE sessions SET last_seen_at = greatest(last_seen_at, :at) WHERE hash = :hash AND ended_at IS NULL',
  )
  const end = connection.prepare(
    'move',
    'UPDATE sessions SET ended_at = :at WHERE hash = :hash AND ended_at IS NULL RETURNING hash',
  )
  const endAll = connection.prepare<{ hash: string }>(
    'move',
    'UPDATE sessions SET ended_at = :at WHERE wallet = :wallet AND ended_at IS NULL RETURNING hash',
  )
  const list = connection.prepare<SessionRow>(
    'read',
    `SELECT ${COLUMNS} FROM sessions
     WHERE wallet = :wallet AND ended_at IS NULL AND expires_at > :at ORDER BY auth_time DESC, hash`,
  )
  return {
    async startSession(session, attemptId) {
      if ((await insert({ ...session, attemptId })).length > 0) return 'started'
      // Our own insert, whose answer was lost on the way, is no second use.
      const [row] = await attempt({ hash: session.hash })
      return row?.attempt_id === attemptId ? 'started' : 'taken'
    },
    async readSession(hash) {
      const [row] = await read({ hash })
      return row ? sessionOf(row) : null
    },
    touchSession: async (hash, at) => void (await touch({ hash, at })),
    endSession: async (hash, at) => ((await end({ hash, at })).length > 0 ? 'ended' : 'ended_before'),
    endSessions: async (wallet, at) => (await endAll({ wallet, at })).map(({ hash }) => hash),
    listSessions: async (wallet, at) => (await list({ wallet, at })).map(sessionOf),
  }
}

function sessionOf(row: SessionRow): Session {
  return {
    hash: row.hash,
    wallet: row.wallet as Session['wallet'],
    chainId: row.chain_id,
    method: row.method as Session['method'],
    walletKind: row.wallet_kind as Session['walletKind'],
    receiptId: row.receipt_id,
    epoch: row.epoch,
    authTime: row.auth_time,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    endedAt: row.ended_at,
  }
}
