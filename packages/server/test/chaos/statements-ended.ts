/** Waits for statements at a PostgreSQL server whose clients have gone. */
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from '../support/sql.ts'

/**
 * Resolves when every statement of another connection that had begun before this call has ended. While the server is away, the function
 * waits for its return: its statements end with it, and it may have been replaced by a standby, so the address is read again.
 */
export async function waitForStatements(urlOf: () => string): Promise<void> {
  let sql = connect(urlOf())
  for (let since: string | undefined; ; await pause(50)) {
    try {
      since ??= (await sql<{ at: string }[]>`SELECT clock_timestamp()::text AS at`)[0]?.at
      const running = await sql`
        SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()
           AND xact_start < ${since ?? ''}::timestamptz`
      if (running.length === 0) return await sql.end()
    } catch {
      // The server is away.
      await sql.end().catch(() => undefined)
      sql = connect(urlOf())
    }
  }
}
