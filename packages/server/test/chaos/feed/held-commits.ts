/** Keeps the commit of an ending open on PostgreSQL, while other endings are committed. */

import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { pack } from '../../../src/store/packed.ts'
import { addressOf } from '../../support/postgres-database.ts'
import type { Hold } from './feed-user.ts'

/** Milliseconds. A statement that waits for a second and a half fails. */
const HELD_FOR = 1100
/** Milliseconds after which the statement certainly waits for the lock, or has failed. */
const WAITS_WITHIN = 2000

export type HeldCommits = {
  hold: Hold
  /** commits that were open for more than a second */
  held(): number
}

/** The ending waits for the lock of the grant's row, which another transaction has. */
export function holdCommits(databaseUrl: string): HeldCommits {
  let held = 0

  async function untilItWaits(watch: pg.Client): Promise<boolean> {
    for (const since = performance.now(); performance.now() - since < WAITS_WITHIN; await pause(20)) {
      const { rows } = await watch.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE grants%'`,
      )
      if (rows.length > 0) return true
    }
    return false
  }

  return {
    async hold(grantId, send) {
      let sent: Promise<unknown> | undefined
      const clients: pg.Client[] = []
      try {
        const [session, watch] = [await openClient(databaseUrl, clients), await openClient(databaseUrl, clients)]
        await session.query('BEGIN')
        await session.query('SELECT 1 FROM grants WHERE id = $1 FOR UPDATE', [pack(grantId)])
        sent = send()
        sent.catch(() => undefined)
        if (await untilItWaits(watch)) {
          await pause(HELD_FOR)
          await session.query('COMMIT')
          held++
        }
      } catch {
        // The server was killed, or the connection was cut.
      } finally {
        await Promise.allSettled(clients.map((client) => client.end()))
      }
      return sent ?? send()
    },
    held: () => held,
  }
}

/**
 * Connects to the server that takes writes. Uses the driver of the service: the other one of the tests throws out of a queue if the server is
 * killed while the driver writes.
 */
async function openClient(databaseUrl: string, opened: pg.Client[]): Promise<pg.Client> {
  const { servers, user, password, database } = addressOf(databaseUrl)
  for (const server of servers) {
    const client = new pg.Client({ ...server, user, password: password ?? '', database, connectionTimeoutMillis: WAITS_WITHIN })
    // The next query fails with the same error.
    client.on('error', () => undefined)
    opened.push(client)
    const isPrimary = await client.connect().then(
      async () =>
        (await client.query<{ in_recovery: boolean }>('SELECT pg_is_in_recovery() AS in_recovery')).rows[0]?.in_recovery ===
        false,
      () => false,
    )
    if (isPrimary) return client
  }
  throw new Error('no server takes writes')
}
