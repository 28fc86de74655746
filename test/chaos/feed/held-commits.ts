/** Keeps the commit of an ending open on PostgreSQL, while other endings are committed. */
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from '../../support/postgres-database.ts'
import type { Hold } from './feed-user.ts'

/** Milliseconds. A statement that waits for a second and a half fails. */
const HELD_FOR = 1100
/** Milliseconds after which the statement certainly waits for the lock, or has failed. */
const WAITS_WITHIN = 2000

export type HeldCommits = {
  hold: Hold /** commits that were open for more than a second */
  held(): number
  close(): Promise<void>
}

/** The ending waits for the lock of the grant's row, which another transaction has. */
export function holdCommits(databaseUrl: string): HeldCommits {
  const [session, watch] = [connect(databaseUrl), connect(databaseUrl)]
  let held = 0

  async function untilItWaits(): Promise<boolean> {
    for (const since = performance.now(); performance.now() - since < WAITS_WITHIN; await pause(20)) {
      const waiting = await watch`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE grants%'`
      if (waiting.length > 0) return true
    }
    return false
  }

  return {
    async hold(grantId, send) {
      let sent: Promise<unknown> | undefined
      try {
        await session.begin(async (transaction) => {
          await transaction`SELECT 1 FROM grants WHERE id = ${grantId} FOR UPDATE`
          sent = send()
          sent.catch(() => undefined)
          if (!(await untilItWaits())) return
          await pause(HELD_FOR)
          held++
        })
      } catch {
        // The server was killed, or the connection was cut.
      }
      return sent ?? send()
    },
    held: () => held,
    close: async () => void (await Promise.all([session.end({ timeout: 1 }), watch.end({ timeout: 1 })])),
  }
}
