/** Grants by wallet and by client: what is listed, and what is ended together. */
import type { GrantFilter, GrantLedger } from '../../grants/ports.ts'
import type { Connection } from './connection.ts'
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

function list(conditions: readonly string[], living: boolean): string {
  const all = [...conditions, ...(living ? ['ended_at IS NULL', 'refresh_expires_at > :at'] : [])]
  const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`
  return `SELECT ${COLUMNS} FROM grants ${where} ORDER BY created_at DESC, id LIMIT :limit`
}

export function listingGrants(connection: Connection): Pick<GrantLedger, 'listGrants' | 'endGrants'> {
  return {
    async listGrants({ living = false, ...filter }: GrantFilter) {
      const rows = await connection.prepare<GrantRow>('read', list(whoseGrants(filter), living))(filter)
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
