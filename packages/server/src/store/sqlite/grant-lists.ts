/** Grants by wallet and by client on SQLite: listed page by page, and ended together. */

import type { GrantLists } from '../../domain/model/operator-store.ts'
import type { GrantFilter, UnendedPage } from '../../domain/model/pages.ts'
import type { Grant } from '../../domain/model/records.ts'
import type { GrantStore } from '../../domain/model/request-store.ts'
import { firstOf } from '../first-of.ts'
import { runPaced } from '../paced.ts'
import { GREATEST, LEAST, pack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'

const END = `
  UPDATE grants SET ended_at = coalesce(ended_at, :at), end_reason = :reason, attempt_id = :attemptId
  WHERE id = :id AND (ended_at IS NULL OR attempt_id = :attemptId)`

/** As in the indexes `grants_by_wallet` and `grants_by_client`. */
const IS_ENDED = '(CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END)'

type NamedParameters = Record<string, Uint8Array | number>

/** Before the first row of a list by client. */
const FIRST = { clientId: GREATEST, madeAt: Number.MAX_SAFE_INTEGER, id: LEAST }

export function listingGrants(connection: SqliteConnection): GrantLists & Pick<GrantStore, 'listUnendedGrants' | 'endGrants'> {
  const end = connection.prepareWrite(END)
  const list = ({ sql, named }: { sql: string; named: NamedParameters }): Promise<Grant[]> =>
    connection.read(() => {
      const statement = connection.prepareRead(sql)
      statement.setReturnArrays(true)
      return (statement.all(named) as unknown as GrantRow[]).map(grantOf)
    })
  return {
    async listGrants(filter) {
      if (filter.clientId === undefined || filter.unended) return list(listOf(filter, 0))
      // Requested in one turn, so both lists are of the same moment.
      const [unended, ended] = await Promise.all([list(listOf(filter, 0)), list(listOf(filter, 1))])
      const newest = (a: Grant, b: Grant): number => (a.id < b.id ? 1 : -1)
      return firstOf({ unended, ended }, filter.limit, filter.order === 'oldest' ? (a, b) => newest(b, a) : newest)
    },
    countUnendedGrants: (of, atMost) =>
      connection.read(() => {
        const { conditions, named } = whoseGrants(of)
        const rows = `SELECT 1 FROM grants WHERE ${[...conditions, `${IS_ENDED} = 0`].join(' AND ')} LIMIT :atMost`
        const statement = connection.prepareRead(`SELECT count(*) AS number FROM (${rows})`)
        statement.setReturnArrays(true)
        return (statement.get({ ...named, atMost }) as unknown as [number])[0]
      }),
    countGrants: (atMost) =>
      connection.read(() => {
        const statement = connection.prepareRead('SELECT count(*) FROM (SELECT 1 FROM grants LIMIT ?)')
        statement.setReturnArrays(true)
        const [number] = statement.get(atMost + 1) as unknown as [number]
        return number > atMost ? { number: atMost, kind: 'at_least' } : { number, kind: 'exact' }
      }),
    listUnendedGrants: (page) => list(unendedOf(page)),
    endGrants(ids, { attemptId, ...ending }) {
      const parametersOf = (id: string) => ({ id: pack(id), ...ending, attemptId: pack(attemptId) })
      return runPaced(ids.length, () => connection.write(() => ids.filter((id) => end.run(parametersOf(id)).changes > 0)))
    },
  }
}

/** Includes only the conditions of the filter, so that the index by wallet or by client finds the rows. */
function whoseGrants({ wallet, clientId }: { wallet?: string | undefined; clientId?: string | undefined }): {
  conditions: string[]
  named: NamedParameters
} {
  return {
    conditions: [
      ...(wallet === undefined ? [] : ['wallet = :wallet']),
      ...(clientId === undefined ? [] : ['client_id = :clientId']),
    ],
    named: {
      ...(wallet === undefined ? {} : { wallet: pack(wallet) }),
      ...(clientId === undefined ? {} : { clientId: pack(clientId) }),
    },
  }
}

/** `isEnded` is a part of the index of a client only: the lists of a wallet and of all grants contain both. */
function listOf(filter: GrantFilter, isEnded: 0 | 1): { sql: string; named: NamedParameters } {
  const { wallet, clientId, order = 'newest', limit, after } = filter
  const { conditions, named } = whoseGrants({ wallet, clientId })
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  if (clientId !== undefined) conditions.push(`${IS_ENDED} = ${isEnded}`)
  if (after) {
    conditions.push(`id ${beyond} :afterId`)
    named.afterId = pack(after.id)
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const select = (columns: string, of: string) => `SELECT ${columns} FROM grants ${of} ORDER BY id ${direction}`
  // No index has the grants of a wallet by their time. An operator's page sorts the ids of all of them, in an index, and reads only its own rows. The
  // grants of a wallet are those of its sign-ins within the time for which ended grants are kept.
  const sql = wallet === undefined ? select(COLUMNS, where) : select(COLUMNS, `WHERE id IN (${select('id', where)} LIMIT :limit)`)
  return { sql: `${sql} LIMIT :limit`, named: { ...named, limit } }
}

function unendedOf({ wallet, clientId, limit, after }: UnendedPage): { sql: string; named: NamedParameters } {
  const first = after ? { clientId: pack(after.clientId), madeAt: after.createdAt, id: pack(after.id) } : FIRST
  const place =
    clientId === undefined
      ? '(client_id, created_at, id) < (:clientId, :madeAt, :id)'
      : 'client_id = :clientId AND (created_at, id) < (:madeAt, :id)'
  return {
    sql: `SELECT ${COLUMNS} FROM grants WHERE wallet = :wallet AND ${IS_ENDED} = 0 AND ${place}
      ORDER BY client_id DESC, created_at DESC, id DESC LIMIT :limit`,
    named: { ...first, wallet: pack(wallet), limit, ...(clientId === undefined ? {} : { clientId: pack(clientId) }) },
  }
}
