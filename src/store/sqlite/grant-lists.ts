/** Grants by wallet and by client on SQLite: listed page by page, and ended together. */

import type { GrantLists } from '../../domain/model/operator-store.ts'
import type { GrantFilter, UnendedPage } from '../../domain/model/pages.ts'
import type { Grant } from '../../domain/model/records.ts'
import type { GrantStore } from '../../domain/model/request-store.ts'
import { paced } from '../paced.ts'
import type { Connection } from './connection.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'

const END = `
  UPDATE grants SET ended_at = coalesce(ended_at, :at), end_reason = :reason, attempt_id = :attemptId
  WHERE id = :id AND (ended_at IS NULL OR attempt_id = :attemptId)`

type Named = Record<string, string | number>

/** Before the first row of a list by client. */
const FIRST = { clientId: '\u{10FFFF}', createdAt: Number.MAX_SAFE_INTEGER, id: '' }

export function listingGrants(connection: Connection): GrantLists & Pick<GrantStore, 'listUnendedGrants' | 'endGrants'> {
  const end = connection.prepareWrite(END)
  const list = ({ sql, named }: { sql: string; named: Named }): Promise<Grant[]> =>
    connection.read(() => {
      const statement = connection.prepareRead(sql)
      statement.setReturnArrays(true)
      return (statement.all(named) as unknown as GrantRow[]).map(grantOf)
    })
  return {
    listGrants: (filter) => list(listOf(filter)),
    countUnendedGrants: (of, atMost) =>
      connection.read(() => {
        const { conditions, named } = whoseGrants(of)
        const unended = 'wallet' in of ? 'coalesce(ended_at, 0) = 0' : 'ended_at IS NULL'
        const rows = `SELECT 1 FROM grants WHERE ${[...conditions, unended].join(' AND ')} LIMIT :atMost`
        const statement = connection.prepareRead(`SELECT count(*) AS number FROM (${rows})`)
        statement.setReturnArrays(true)
        return (statement.get({ ...named, atMost }) as unknown as [number])[0]
      }),
    listUnendedGrants: (page) => list(unendedOf(page)),
    endGrants: (ids, ending) =>
      paced(ids.length, () => connection.write(() => ids.filter((id) => end.run({ id, ...ending }).changes > 0))),
  }
}

/** Includes only the conditions of the filter, so that the index by wallet or by client finds the rows. */
function whoseGrants({ wallet, clientId }: { wallet?: string; clientId?: string }): { conditions: string[]; named: Named } {
  return {
    conditions: [
      ...(wallet === undefined ? [] : ['wallet = :wallet']),
      ...(clientId === undefined ? [] : ['client_id = :clientId']),
    ],
    named: { ...(wallet === undefined ? {} : { wallet }), ...(clientId === undefined ? {} : { clientId }) },
  }
}

/**
 * A wallet's grants are sorted by age. The grants of a client, or all grants, are sorted by id: an id begins with a
 * time, and the table and the index by client have that order.
 */
function listOf(filter: GrantFilter): { sql: string; named: Named } {
  const { wallet, living, order = 'newest', at, limit, after } = filter
  const { conditions, named } = whoseGrants(filter)
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  if (after) {
    conditions.push(wallet === undefined ? `id ${beyond} :afterId` : `(created_at, id) ${beyond} (:afterMadeAt, :afterId)`)
    Object.assign(named, { afterId: after.id }, wallet === undefined ? {} : { afterMadeAt: after.createdAt })
  }
  if (living) {
    conditions.push('ended_at IS NULL', 'refresh_expires_at > :at')
    named.at = at
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const by = wallet === undefined ? `id ${direction}` : `created_at ${direction}, id ${direction}`
  return { sql: `SELECT ${COLUMNS} FROM grants ${where} ORDER BY ${by} LIMIT :limit`, named: { ...named, limit } }
}

function unendedOf({ wallet, clientId, limit, after = FIRST }: UnendedPage): { sql: string; named: Named } {
  const place =
    clientId === undefined
      ? '(client_id, created_at, id) < (:clientId, :madeAt, :id)'
      : 'client_id = :clientId AND (created_at, id) < (:madeAt, :id)'
  return {
    sql: `SELECT ${COLUMNS} FROM grants WHERE wallet = :wallet AND coalesce(ended_at, 0) = 0 AND ${place}
      ORDER BY client_id DESC, created_at DESC, id DESC LIMIT :limit`,
    named: { wallet, clientId: clientId ?? after.clientId, madeAt: after.createdAt, id: after.id, limit },
  }
}
