/**
 * The endings on SQLite, in the order of their commits. Triggers insert a row into `endings` in the transaction of each ending
 * (`migrations.ts`). One transaction writes at a time, so the numbers of the rows have the order of the commits.
 */
import type { Ending, EndingPlace, EndingStore } from '../../domain/model/ending-store.ts'
import { readList } from '../list-text.ts'
import { unpack } from '../packed.ts'
import { readRevokedToken } from '../revoked-token.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import type { SqliteConnection } from './connection.ts'

type EndingRow = {
  seq: number
  at: number
  kind: Ending['kind']
  key: Uint8Array
  client_id: Uint8Array | null
  resources: string | null
  revoked_tokens: string | null
  attempt_id: Uint8Array | null
}

/** `seq`: the last row that was read. `since`: during a first read, the time of the oldest endings that are returned. */
type RowPosition = EndingPlace & { seq: number; since: number | null }

export function createEndingStore(connection: SqliteConnection): EndingStore {
  const next = connection.prepareRead(`
    SELECT endings.seq, endings.at, endings.kind, endings.key, grants.client_id, grants.resources, grants.revoked_tokens, spent.attempt_id
    FROM endings LEFT JOIN grants ON endings.kind IN ('grant', 'token') AND grants.id = endings.key
    LEFT JOIN spent ON endings.kind = 'client_token' AND spent.hash = endings.key AND spent.kind = ${SPENT_KINDS.access_token}
    WHERE endings.seq > :seq ORDER BY endings.seq LIMIT :limit`)
  const restoration = connection.prepareRead('SELECT max(number) AS number FROM restorations')

  return {
    readEndings: (before, { within, limit, at }) =>
      connection.read(() => {
        const { number } = restoration.get() as { number: number | null }
        const instance = `sqlite ${number ?? 0}`
        const isSame = before !== null && before.instance === instance
        const { seq, since } = isSame ? (before as RowPosition) : { seq: 0, since: at - within }
        const rows = next.all({ seq, limit }) as EndingRow[]
        const hasMore = rows.length === limit
        const place: RowPosition = { instance, seq: rows.at(-1)?.seq ?? seq, since: hasMore ? since : null }
        return { endings: rows.flatMap((row) => (since !== null && row.at < since ? [] : endingsOf(row))), place, hasMore }
      }),
  }
}

function endingsOf({
  at,
  kind,
  key: packedKey,
  client_id: client,
  resources,
  revoked_tokens: revoked,
  attempt_id: attempt,
}: EndingRow): Ending[] {
  const key = unpack(packedKey)
  if (kind === 'client') return [{ kind, hash: key, at }]
  // The row of the revocation is deleted when no token can be valid any more.
  if (kind === 'client_token') return attempt === null ? [] : [{ kind, hash: key, ...readRevokedToken(attempt), at }]
  // A grant is deleted long after its last token has expired.
  if (client === null || resources === null || revoked === null) return []
  const ofGrant = { clientId: unpack(client), resources: readList(resources), at }
  if (kind === 'grant') return [{ kind, grantId: key, ...ofGrant }]
  return Object.keys(JSON.parse(revoked) as Record<string, number>).map((jti) => ({ kind, jti, ...ofGrant }))
}
