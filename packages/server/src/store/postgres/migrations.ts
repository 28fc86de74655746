/**
 * The schema, as numbered steps with the same numbers as SQLite's. A step that is in the main branch never changes: a change of the schema
 * is a new step.
 */
import { NO_LINE } from '../../domain/model/audit-store.ts'
import { pendingSteps, refuseUnknown, type SchemaStep, type TakenStep } from '../../domain/model/schema-steps.ts'
import { APPEND_AUDIT_LINES } from './append-audit-lines.ts'
import { buildIndex, type IndexToBuild } from './build-index.ts'
import { codeOf } from './connection/errors.ts'
import type { PostgresSession } from './connection/server.ts'
import type { Placement } from './placement.ts'

/** `index`: built while servers change the table. A step with an index is taken alone, and has no statements. */
export type Migration = SchemaStep & { sql: string; index?: IndexToBuild }

export const MIGRATIONS: readonly Migration[] = [
  {
    // Versions that were never released used the numbers 1 to 25. Their databases cannot be migrated.
    number: 26,
    name: 'first release',
    oldest: 26,
    // Texts compare byte by byte, as on SQLite. The columns of the type `bytea` are packed texts (`../packed.ts`). Columns of eight bytes come first,
    // then the shorter ones, so that no row has padding.
    //
    // No index has a column that a refresh or a visit changes. Pages of grants and sessions keep free space, so that the new version of a
    // row stays on its page. Autovacuum removes the old versions early.
    //
    // The indexes by wallet and by client hold the rows that have not ended next to each other: a page of them costs the same however many
    // rows have ended. Each list of grants has the order of an index, and only the grants of one second are sorted by id. With the id in
    // place of the time, the planner would read the primary key, and skip the grants of all others.
    sql: `
      CREATE TABLE grants (
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        refresh_expires_at bigint NOT NULL,
        rotated_at bigint NOT NULL,
        auth_time bigint NOT NULL,
        chain_id bigint NOT NULL,
        ended_at bigint,
        generation integer NOT NULL,
        epoch integer NOT NULL,
        is_contract boolean NOT NULL,
        consented boolean NOT NULL,
        id bytea PRIMARY KEY,
        client_id bytea NOT NULL,
        wallet bytea NOT NULL,
        attempt_id bytea NOT NULL,
        session_hash bytea,
        receipt_id bytea,
        session_receipt_id bytea,
        dpop_jkt bytea,
        refresh_key_id text COLLATE "C" NOT NULL,
        scopes text COLLATE "C" NOT NULL,
        resources text COLLATE "C" NOT NULL,
        scopes_by_resource jsonb,
        revoked_tokens jsonb NOT NULL DEFAULT '{}',
        end_reason text COLLATE "C"
      ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
      CREATE INDEX grants_by_end ON grants (coalesce(ended_at, expires_at));
      CREATE INDEX grants_by_wallet ON grants (wallet, ((ended_at IS NULL)::integer), client_id, created_at);
      CREATE INDEX grants_by_client ON grants (client_id, (CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END), created_at);
      CREATE TABLE wallets (
        epoch integer NOT NULL,
        proved_itself boolean NOT NULL,
        address bytea PRIMARY KEY
      );
      CREATE TABLE sessions (
        chain_id bigint NOT NULL,
        auth_time bigint NOT NULL,
        last_seen_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        ended_at bigint,
        epoch integer NOT NULL,
        is_vouched boolean NOT NULL,
        is_contract boolean NOT NULL,
        elsewhere boolean NOT NULL,
        hash bytea PRIMARY KEY,
        wallet bytea NOT NULL,
        attempt_id bytea NOT NULL,
        receipt_id bytea,
        replaced_by bytea,
        browser text COLLATE "C" NOT NULL
      ) WITH (fillfactor = 90);
      CREATE INDEX sessions_by_end ON sessions (coalesce(ended_at, expires_at));
      CREATE INDEX sessions_unended ON sessions (wallet, auth_time) WHERE ended_at IS NULL;
      CREATE TABLE receipts (
        chain_id bigint NOT NULL,
        issued_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        checked_at bigint NOT NULL,
        withdrawn_at bigint,
        is_contract boolean NOT NULL,
        wallet bytea NOT NULL,
        id bytea NOT NULL,
        client_id bytea NOT NULL,
        redirect_uri text COLLATE "C" NOT NULL,
        scopes text COLLATE "C" NOT NULL,
        resources text COLLATE "C" NOT NULL,
        sealed bytea NOT NULL,
        PRIMARY KEY (wallet, id)
      );
      CREATE INDEX receipts_by_end ON receipts (expires_at);
      CREATE INDEX receipts_by_client ON receipts (wallet, (CASE WHEN withdrawn_at IS NULL THEN 0 ELSE 1 END), client_id, issued_at);
      -- spent-kinds.ts has the numbers of the kinds.
      CREATE TABLE spent (
        expires_at bigint NOT NULL,
        kind smallint NOT NULL,
        hash bytea NOT NULL,
        attempt_id bytea NOT NULL,
        PRIMARY KEY (hash, kind)
      );
      CREATE INDEX spent_by_end ON spent (expires_at);
      CREATE TABLE pushed_requests (
        expires_at bigint NOT NULL,
        spent_at bigint,
        id bytea PRIMARY KEY,
        client_id bytea NOT NULL,
        attempt_id bytea,
        request text NOT NULL
      );
      -- A pushed request expires, or is deleted an hour after its use.
      CREATE INDEX pushed_requests_by_end ON pushed_requests (coalesce(spent_at + 3600, expires_at));
      CREATE TABLE clients (
        id text COLLATE "C" PRIMARY KEY,
        record text NOT NULL,
        created_at bigint NOT NULL,
        logo bytea
      );
      -- The unique number of each row bounds the number of rows, also if several inserts race.
      CREATE TABLE resources (
        uri text COLLATE "C" PRIMARY KEY,
        number integer NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000),
        record text NOT NULL
      );
      CREATE TABLE keys (
        id text COLLATE "C" PRIMARY KEY,
        kind text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        algorithm text COLLATE "C" NOT NULL,
        wrapped bytea,
        created_at bigint NOT NULL,
        starts_at bigint NOT NULL,
        retired_at bigint,
        UNIQUE (kind, number)
      );
      CREATE INDEX keys_by_end ON keys (retired_at) WHERE retired_at IS NOT NULL;
      -- Each list is one record, so that a rule about the whole list holds if several changes race.
      CREATE TABLE lists (
        name text COLLATE "C" PRIMARY KEY,
        items text NOT NULL,
        attempts text NOT NULL DEFAULT ''
      );
      INSERT INTO lists (name, items) VALUES ('operators', '[]'), ('jobs', '[]'), ('endings', '[]'), ('matching', '[]');
      CREATE TABLE revision (
        id integer PRIMARY KEY CHECK (id = 1),
        number bigint NOT NULL,
        recent text COLLATE "C" NOT NULL DEFAULT ''
      );
      INSERT INTO revision (id, number) VALUES (1, 0);
      CREATE TABLE leases (
        name text COLLATE "C" PRIMARY KEY,
        holder text COLLATE "C" NOT NULL,
        expires_at bigint NOT NULL
      );
      CREATE TABLE restorations (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        begun_at bigint NOT NULL,
        confirmed_at bigint
      );
      CREATE TABLE audit_head (id integer PRIMARY KEY CHECK (id = 1), seq bigint NOT NULL, hash text COLLATE "C" NOT NULL)
        WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
      INSERT INTO audit_head VALUES (1, 0, '${NO_LINE}');
      CREATE TABLE audit_lines (
        seq bigint PRIMARY KEY,
        at bigint NOT NULL,
        event text COLLATE "C" NOT NULL,
        reason text COLLATE "C",
        client_id bytea,
        grant_id bytea,
        wallet bytea,
        operator text COLLATE "C",
        id bytea,
        request_id bytea,
        network text COLLATE "C",
        rest text COLLATE "C",
        hash bytea NOT NULL
      ) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
      -- Each index holds only the lines that have the column, in the order of the units of a search (audit-search.ts).
      CREATE INDEX audit_lines_by_time ON audit_lines ((at / 16));
      CREATE INDEX audit_lines_by_event ON audit_lines (event, (at / 16));
      CREATE INDEX audit_lines_by_reason ON audit_lines (reason, (at / 16)) WHERE reason IS NOT NULL;
      CREATE INDEX audit_lines_by_client ON audit_lines (client_id, (at / 16)) WHERE client_id IS NOT NULL;
      CREATE INDEX audit_lines_by_grant ON audit_lines (grant_id, (at / 16)) WHERE grant_id IS NOT NULL;
      CREATE INDEX audit_lines_by_wallet ON audit_lines (wallet, (at / 16)) WHERE wallet IS NOT NULL;
      CREATE INDEX audit_lines_by_operator ON audit_lines (operator, (at / 16)) WHERE operator IS NOT NULL;
      -- One row for each process, which changes with each of its appends. The column used_at changes once an hour, so the other
      -- changes write no index.
      CREATE TABLE audit_writers (
        id text COLLATE "C" PRIMARY KEY,
        number bigint NOT NULL,
        previous bigint NOT NULL,
        used_at bigint NOT NULL
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
      CREATE INDEX audit_writers_by_end ON audit_writers (used_at);
      ${APPEND_AUDIT_LINES};
      CREATE TABLE webhooks (
        id text COLLATE "C" PRIMARY KEY,
        number integer NOT NULL UNIQUE,
        url text NOT NULL,
        secret text COLLATE "C" NOT NULL,
        events jsonb NOT NULL,
        created_at bigint NOT NULL,
        cursor bigint NOT NULL,
        failing_since bigint,
        next_at bigint NOT NULL,
        paused_at bigint,
        deliveries text COLLATE "C" NOT NULL DEFAULT '[]'
      );
      -- The number bounds the rows, also if several inserts race.
      CREATE TABLE console_drafts (
        id text COLLATE "C" PRIMARY KEY,
        number integer NOT NULL UNIQUE,
        operator text COLLATE "C" NOT NULL,
        path text COLLATE "C" NOT NULL,
        content text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL
      );
      CREATE TABLE activity (
        period text COLLATE "C" PRIMARY KEY,
        sign_ins bigint NOT NULL,
        sketch bytea NOT NULL,
        attempts text COLLATE "C" NOT NULL DEFAULT ''
      );
      -- Used on Citus only (docs/decisions/0019-citus-growth-and-outages.md).
      CREATE TABLE audit_waiting (
        series bytea NOT NULL,
        position bigint NOT NULL,
        writer text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        at bigint NOT NULL,
        size bigint NOT NULL,
        lines text COLLATE "C" NOT NULL,
        previous text COLLATE "C" NOT NULL,
        hash text COLLATE "C" NOT NULL,
        PRIMARY KEY (series, position)
      );
    `,
  },
  {
    number: 27,
    name: 'approvals',
    // A program without this step does not use the table.
    oldest: 26,
    // A declined approval has `answered_at`, and no `receipt_id`. The index by wallet has the expiry, so that expired approvals, which stay for a
    // day, are skipped.
    sql: `
      CREATE TABLE approvals (
        asked_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        answered_at bigint,
        used_at bigint,
        is_last boolean NOT NULL DEFAULT false,
        grant_id bytea NOT NULL,
        id bytea NOT NULL,
        client_id bytea NOT NULL,
        wallet bytea NOT NULL,
        digest bytea NOT NULL,
        receipt_id bytea,
        attempt_id bytea,
        apps text COLLATE "C" NOT NULL,
        user_code text COLLATE "C" NOT NULL,
        scope text COLLATE "C" NOT NULL,
        summary text COLLATE "C" NOT NULL,
        PRIMARY KEY (grant_id, id)
      );
      CREATE INDEX approvals_by_end ON approvals (expires_at);
      CREATE INDEX approvals_by_wallet ON approvals (wallet, expires_at) WHERE answered_at IS NULL;
      CREATE INDEX approvals_by_user_code ON approvals (user_code) WHERE answered_at IS NULL;
    `,
  },
  {
    number: 28,
    name: 'nodes',
    // A program without this step uses neither the table nor the list.
    oldest: 26,
    sql: `
      -- What each process reports about itself, once a minute.
      CREATE TABLE nodes (
        id text COLLATE "C" PRIMARY KEY,
        at bigint NOT NULL,
        record text COLLATE "C" NOT NULL
      );
      CREATE INDEX nodes_by_end ON nodes (at);
      INSERT INTO lists (name, items) VALUES ('incidents', '[]');
    `,
  },
  {
    number: 29,
    name: 'limits',
    // A program without this step never creates a grant with a limit, and uses neither the columns nor the table.
    oldest: 26,
    // The counts are in the row of the grant, and no index has one of them. A grant without a limit has NULL in all columns, which take no space. No
    // index has the order of the draws: a grant has at most 10,000 of them, and each draw would write one index more.
    sql: `
      ALTER TABLE grants
        ADD COLUMN signed_limit jsonb,
        ADD COLUMN drawn_from bigint,
        ADD COLUMN drawn_amount bigint,
        ADD COLUMN drawn_uses integer,
        ADD COLUMN draw_count integer;
      CREATE TABLE draws (
        at bigint NOT NULL,
        period_from bigint NOT NULL,
        period_end bigint,
        amount bigint,
        left_amount bigint,
        returned bigint,
        number integer NOT NULL,
        left_uses integer NOT NULL,
        grant_id bytea NOT NULL,
        client_id bytea NOT NULL,
        key bytea NOT NULL,
        PRIMARY KEY (grant_id, client_id, key)
      );
    `,
  },
]

// Errors of a program that migrates an empty database at the same time as another one, and comes second.
const CAME_SECOND = ['23505', '42P07', '42710', '40P01', '40001']
/** The code of a lock timeout. */
const LOCKED = '55P03'

/** The steps that were applied to this database, in order. */
export async function appliedMigrations(session: PostgresSession): Promise<TakenStep[]> {
  try {
    return await session.query<TakenStep>('SELECT * FROM migrations ORDER BY number')
  } catch (error) {
    if (codeOf(error) === '42P01') return []
    throw error
  }
}

/** For how many milliseconds a step waits for the lock on a table. Statements of the servers wait behind it for that long. */
const LOCK_AT_MOST = 500
const LOCK_TRIED = 60

export type Migrating = {
  /** epoch seconds */
  at: number
  /** Receives lines for the operator, if the tables are distributed and have rows. */
  report?: ((line: string) => void) | undefined
  /** Runs a task over another connection. */
  useAnother: (task: (session: PostgresSession) => Promise<void>) => Promise<void>
  placement: Pick<Placement, 'configureSteps' | 'distribute'>
}

/**
 * Applies the pending steps in one transaction, and returns them. A step that builds an index has a transaction of its own. Then the placement distributes the tables. If several
 * programs migrate at the same time, one of them applies the steps. The others wait for its lock on the table `migrations` and find nothing to do.
 */
export async function migrate(
  session: PostgresSession,
  { at, report = () => undefined, useAnother, placement }: Migrating,
): Promise<Migration[]> {
  const taken: Migration[] = []
  for (let hasMore = true; hasMore; ) {
    const { steps, isLast } = await runLocking(session, async () => {
      await placement.configureSteps(session, { lockAtMost: LOCK_AT_MOST })
      const next = await takeSteps(session, { at, useAnother })
      await restoreFunction(session)
      return next
    })
    taken.push(...steps)
    hasMore = !isLast
  }
  await placement.distribute(session, { report, useAnother, runLocking: (task) => runLocking(session, task) })
  return taken
}

/**
 * Runs a transaction while no other program migrates. If a long read holds the lock on a table, the transaction gives up early, because other
 * statements wait behind it, and is repeated.
 */
async function runLocking<Result>(session: PostgresSession, task: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried++) {
    try {
      return await inTransaction(session, async () => {
        const [found] = await session.query<{ name: string | null }>("SELECT to_regclass('migrations')::text AS name")
        // On Citus, `IF NOT EXISTS` alone would lock a table that exists, and another program that migrates would wait for that lock.
        if (found?.name === null)
          await session.query(
            'CREATE TABLE IF NOT EXISTS migrations (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL, oldest bigint)',
          )
        // Nodes that are starting can still read the table.
        await session.query('LOCK TABLE migrations IN SHARE ROW EXCLUSIVE MODE')
        await session.query(`SET LOCAL lock_timeout = ${LOCK_AT_MOST}`)
        return task()
      })
    } catch (error) {
      const code = codeOf(error)
      if (!(CAME_SECOND.includes(code) && tried <= 5) && !(code === LOCKED && tried <= LOCK_TRIED)) throw error
      // Meanwhile the statements of the servers that had to wait are processed.
      if (code === LOCKED) await new Promise((resolve) => setTimeout(resolve, LOCK_AT_MOST * (1 + Math.random())))
    }
  }
}

async function inTransaction<Result>(session: PostgresSession, steps: () => Promise<Result>): Promise<Result> {
  await session.query('BEGIN')
  try {
    const result = await steps()
    await session.query('COMMIT')
    return result
  } catch (error) {
    // If the connection is lost, the server has rolled back already.
    await session.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** A dump of the tables (docs/operating/recover.md) contains the number of the step that made the function, and not the function. */
async function restoreFunction(session: PostgresSession): Promise<void> {
  const [found] = await session.query<{ name: string | null }>(`SELECT to_regproc('append_audit_lines')::text AS name`)
  if (found?.name === null) await session.query(APPEND_AUDIT_LINES)
}

/** The next steps that share a transaction: all up to the next one with an index, or that one. `isLast`: no step is left. */
async function takeSteps(
  session: PostgresSession,
  { at, useAnother }: Pick<Migrating, 'at' | 'useAnother'>,
): Promise<{ steps: Migration[]; isLast: boolean }> {
  const taken = await appliedMigrations(session)
  refuseUnknown(MIGRATIONS, taken)
  const pending = pendingSteps(MIGRATIONS, taken)
  const next = pending.findIndex(({ index }) => index)
  const steps = next === -1 ? pending : pending.slice(0, Math.max(1, next))
  for (const { number, name, oldest, sql: step, index } of steps) {
    // One statement at a time: Citus cannot pass a text of several statements to other machines.
    for (const statement of statementsOf(step)) await session.query(statement)
    // The lock of this transaction keeps other programs away. It holds no snapshot and no lock on the table, for which the build would wait.
    if (index) await useAnother((other) => buildIndex(other, index))
    await session.query('INSERT INTO migrations (number, name, applied_at, oldest) VALUES ($1, $2, $3, $4)', [
      number,
      name,
      at,
      oldest,
    ])
  }
  return { steps, isLast: steps.length === pending.length }
}

/** The statements of a step. Each ends with a semicolon at the end of a line, except within the body of a function, between two `$$`. */
function statementsOf(step: string): string[] {
  const statements = ['']
  for (const [index, part] of step.split('$$').entries()) {
    const isBody = index % 2 === 1
    const [rest = '', ...next] = isBody ? [`$$${part}$$`] : part.split(/;\s*$/m)
    statements.push(`${statements.pop()}${rest}`, ...next)
  }
  return statements.filter((statement) => statement.trim() !== '')
}
