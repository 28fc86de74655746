/** Sends several queries over one connection, before the first response arrives. */
import type { Socket } from 'node:net'
import type pg from 'pg'

/** Resolves when all queries have ended, and rejects with the first error. Each query is a transaction of its own. */
export async function sendTogether(client: pg.Client, queries: readonly pg.QueryConfig[]): Promise<pg.QueryResult<object>[]> {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  ;(client as unknown as { pipeline: boolean }).pipeline = true
  stream.cork()
  const running = queries.map((each) => client.query<object>(each))
  stream.uncork()
  const results = await Promise.allSettled(running)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
