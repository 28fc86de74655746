/** Grants by wallet and by client: what is listed, and what is ended together. */
import type { GrantFilter, GrantLedger } from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'

/** How many rows one statement of a mass ending locks. */
const BATCH = 500

/** `last` and `made_at` name the last grant that was seen. */
type Batch = { ended: number; seen: number; last: string; made_at: number }
type Whose = { wallet?: string; clientId?: string }

/** Only the conditions that are asked for, so that a wallet's or a client's index finds the rows. */
function whoseGrants({ wallet, clientId }: Whose): string[] {
  return [...(wallet === undefined ? [] : ['wallet = :wallet']), ...(clientId === undefined ? [] : ['client_id = :clientId'])]
}

// In one order, so that two who end the same grants do not lock each other out; the oldest first, so that those made
// meanwhile come too.
function endBatch(conditions: readonly string[]): string {
  return `
    WITH batch AS (
      SELECT id, created_at FROM grants
      WHERE ${conditions.join(' AND ')} AND (created_at, id) > (:madeAt::bigint, :after) ORDER BY created_at, id LIMIT ${BATCH}),
    ended AS (
      UPDATE grants SET ended_at = :at, end_reason = :reason
      WHERE id IN (SELECT id FROM batch) AND ended_at IS NULL
      RETURNING id)
    SELECT (SELECT count(*) FROM ended) AS ended, (SELECT count(*) FROM batch) AS seen, last.id AS last, last.created_at AS made_at
    FROM (SELECT true) AS one LEFT JOIN (SELECT id, created_at FROM batch ORDER BY created_at DESC, id DESC LIMIT 1) AS last ON true`
}

// Past everything that is stored, so that the first page is asked for like all others.
const BEYOND = { id: '~', createdAt: Number.MAX_SAFE_INTEGER }

// A wallet's and a client's grants lie by their age; among all of them only the key is an index, and it begins with a time.
function list(conditions: readonly string[], living: boolean): string {
  const [place, order] =
    conditions.length === 0
      ? ['id < :afterId', 'id DESC']
      : ['(created_at, id) < (:afterMadeAt::bigint, :afterId)', 'created_at DESC, id DESC']
  const all = [...conditions, place, ...(living ? ['ended_at IS NULL', 'refresh_expires_at > :at'] : [])]
  return `SELECT ${COLUMNS} FROM grants WHERE ${all.join(' AND ')} ORDER BY ${order} LIMIT :limit`
}

export function listingGrants(connection: Connection): Pick<GrantLedger, 'listGrants' | 'endGrants'> {
  return {
    async listGrants({ living = false, after = BEYOND, ...filter }: GrantFilter) {
      const named = { ...filter, afterId: after.id, afterMadeAt: after.createdAt }
      const rows = await connection.prepare<GrantRow>('read', list(whoseGrants(filter), living))(named)
      return rows.map(grantOf)
    },

    async endGrants(of, reason, at) {
      const conditions = whoseGrants(of)
      if (conditions.length === 0) return 0
      const end = connection.prepare<Batch>('move', endBatch(conditions))
      let ended = 0
      for (let [madeAt, after] = [Number.MIN_SAFE_INTEGER, '']; ; ) {
        const [batch] = await end({ ...of, reason, at, madeAt, after })
        ended += batch?.ended ?? 0
        if (!batch || batch.seen < BATCH) return ended
        ;[madeAt, after] = [batch.made_at, batch.last]
      }
    },
  }
}
