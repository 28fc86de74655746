/** Grants by wallet and by client on PostgreSQL: listed page by page, and ended together. */

import type { GrantLists } from '../../domain/model/operator-store.ts'
import type { GrantFilter } from '../../domain/model/pages.ts'
import type { GrantStore } from '../../domain/model/request-store.ts'
import { paced } from '../paced.ts'
import type { Connection } from './connection/connection.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'

const END = 'UPDATE grants SET ended_at = least(ended_at, :at), end_reason = :reason, attempt_id = :attemptId'
const UNENDED = `
  WHERE grants.id = :id AND (grants.ended_at IS NULL OR grants.attempt_id = :attemptId) RETURNING grants.id`

const GRANTS = { table: 'grants' } as const

// A cursor before the first row of each order, so that the first page is read by the same statement as every other page.
const LAST_TEXT = '\u{10FFFF}'
const FIRST = {
  newest: { clientId: LAST_TEXT, createdAt: Number.MAX_SAFE_INTEGER, id: LAST_TEXT },
  oldest: { createdAt: Number.MIN_SAFE_INTEGER, id: '' },
}

const listUnended = (place: string) => `
  SELECT ${COLUMNS} FROM grants WHERE wallet = :wallet AND coalesce(ended_at, 0) = 0 AND ${place}
  ORDER BY client_id DESC, created_at DESC, id DESC LIMIT :limit`
const LIST_OF_WALLET = listUnended('(client_id, created_at, id) < (:clientId, :madeAt::bigint, :id)')
const LIST_OF_CLIENT = listUnended('client_id = :clientId AND (created_at, id) < (:madeAt::bigint, :id)')

export function listingGrants(connection: Connection): GrantLists & Pick<GrantStore, 'listUnendedGrants' | 'endGrants'> {
  const end = connection.prepareForEach<{ id: string }>({
    kind: 'move',
    one: `${END}${UNENDED}`,
    forMany: ` ${END} FROM input${UNENDED}`,
    parameters: { id: 'text', reason: 'text', attemptId: 'text' },
    place: { table: 'grants', key: 'id' },
  })
  return {
    async listGrants({ after, ...filter }) {
      const { createdAt, id } = after ?? FIRST[filter.order ?? 'newest']
      const rows = await connection.prepare<GrantRow>(
        'read',
        list(filter),
        GRANTS,
      )({ ...filter, afterMadeAt: createdAt, afterId: id })
      return rows.map(grantOf)
    },
    async countUnendedGrants(of, atMost) {
      const unended = 'wallet' in of ? 'coalesce(ended_at, 0) = 0' : 'ended_at IS NULL'
      const rows = `SELECT id FROM grants WHERE ${[...whoseGrants(of), unended].join(' AND ')} LIMIT :atMost`
      const count = connection.prepare<{ number: number }>('read', `SELECT count(*) AS number FROM (${rows}) AS unended`, GRANTS)
      return (await count({ ...of, atMost }))[0]?.number ?? 0
    },
    async listUnendedGrants({ wallet, clientId, limit, after = FIRST.newest }) {
      const sql = clientId === undefined ? LIST_OF_WALLET : LIST_OF_CLIENT
      const named = { wallet, clientId: clientId ?? after.clientId, madeAt: after.createdAt, id: after.id, limit }
      return (await connection.prepare<GrantRow>('read', sql, GRANTS)(named)).map(grantOf)
    },
    endGrants: (ids, ending) =>
      paced(ids.length, async () => (await end(ids.map((id) => ({ id, ...ending })))).map(({ id }) => id)),
  }
}

/** The conditions of the filter and no others, so that PostgreSQL uses the index of a wallet or of a client. */
function whoseGrants({ wallet, clientId }: { wallet?: string; clientId?: string }): string[] {
  return [...(wallet === undefined ? [] : ['wallet = :wallet']), ...(clientId === undefined ? [] : ['client_id = :clientId'])]
}

// The grants of a wallet or of a client have an index by age. All grants together have only the primary key, which begins with the time.
function list({ living, order = 'newest', ...whose }: GrantFilter): string {
  const conditions = whoseGrants(whose)
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  const [place, by] =
    conditions.length === 0
      ? [`id ${beyond} :afterId`, `id ${direction}`]
      : [`(created_at, id) ${beyond} (:afterMadeAt::bigint, :afterId)`, `created_at ${direction}, id ${direction}`]
  const all = [...conditions, place, ...(living ? ['ended_at IS NULL', 'refresh_expires_at > :at'] : [])]
  return `SELECT ${COLUMNS} FROM grants WHERE ${all.join(' AND ')} ORDER BY ${by} LIMIT :limit`
}
