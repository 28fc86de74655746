/** Grants by wallet and by client: what is listed, and what is ended together. */
import type { GrantFilter, GrantLedger } from '../../grants/ports.ts'
import type { Connection } from './connection.ts'
import { COLUMNS, type GrantRow, grantOf } from './grant-row.ts'

/** How many rows one statement of a mass ending locks. */
const BATCH = 500

type Whose = { wallet?: string; clientId?: string }

/** Only the conditions that are asked for, so that a wallet's or a client's index finds the rows. */
function whoseGrants({ wallet, clientId }: Whose): string[] {
  return [...(wallet === undefined ? [] : ['wallet = :wallet']), ...(clientId === undefined ? [] : ['client_id = :clientId'])]
}

// In the order of ids, so that two who end the same grants do not lock each other out.
function endBatch(conditions: readonly string[]): string {
  return `
    WITH batch AS (
      SELECT id FROM grants WHERE ${conditions.join(' AND ')} AND id > :after ORDER BY id LIMIT ${BATCH}),
    ended AS (
      UPDATE grants SET ended_at = :at, end_reason = :reason
      WHERE id IN (SELECT id FROM batch) AND ended_at IS NULL
      RETURNING id)
    SELECT (SELECT count(*) FROM ended) AS ended, (SELECT count(*) FROM batch) AS seen, (SELECT max(id) FROM batch) AS last`
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
      const end = connection.prepare<{ ended: number; seen: number; last: string }>('move', endBatch(conditions))
      let ended = 0
      for (let after = ''; ; ) {
        const [batch] = await end({ ...of, reason, at, after })
        ended += batch?.ended ?? 0
        if (!batch || batch.seen < BATCH) return ended
        after = batch.last
      }
    },
  }
}
