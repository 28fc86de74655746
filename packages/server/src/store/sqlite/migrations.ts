/** The schema, as numbered steps. A step that is in the main branch never changes: a change of the schema is a new step. */
import { NO_LINE } from '../../domain/model/audit-store.ts'
import { pendingSteps, refuseUnknown, type SchemaStep, type TakenStep } from '../../domain/model/schema-steps.ts'
import { SPENT_KINDS } from '../spent-kinds.ts'
import type { SqliteConnection } from './connection.ts'

export type Migration = SchemaStep & { sql: string }

export const MIGRATIONS: readonly Migration[] = [
  {
    // Versions that were never released used the numbers 1 to 25. Their databases cannot be migrated.
    number: 26,
    name: 'first release',
    oldest: 26,
    // Every table whose rows are read by a key is stored in the tree of its primary key.
    //
    // No index has a column that a refresh or a visit changes. SQLite appends the primary key to each index. The ids of grants begin with a
    // time, so the index by client has the order of the lists. Rows that have not ended are separate in both indexes: a page of these rows
    // costs the same however many have ended.
    //
    // A BLOB has a packed text, except `wrapped`, `logo` and `sketch` (../packed.ts). A column that is a boolean has 0 or 1.
    sql: `
      CREATE TABLE grants (
        id BLOB PRIMARY KEY,
        client_id BLOB NOT NULL,
        wallet BLOB NOT NULL,
        scopes TEXT NOT NULL,
        resources TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        refresh_expires_at INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        refresh_key_id TEXT NOT NULL,
        rotated_at INTEGER NOT NULL,
        attempt_id BLOB NOT NULL,
        ended_at INTEGER,
        end_reason TEXT,
        revoked_tokens TEXT NOT NULL DEFAULT '{}',
        is_contract INTEGER NOT NULL,
        receipt_id BLOB,
        consented INTEGER NOT NULL,
        dpop_jkt BLOB,
        auth_time INTEGER NOT NULL,
        chain_id INTEGER NOT NULL,
        session_hash BLOB,
        session_receipt_id BLOB,
        scopes_by_resource TEXT,
        epoch INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX grants_by_end ON grants (coalesce(ended_at, expires_at));
      CREATE INDEX grants_by_wallet ON grants (wallet, (CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END), client_id, created_at);
      CREATE INDEX grants_by_client ON grants (client_id, (CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END));
      CREATE TABLE wallets (
        address BLOB PRIMARY KEY,
        epoch INTEGER NOT NULL,
        proved_itself INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE sessions (
        hash BLOB PRIMARY KEY,
        wallet BLOB NOT NULL,
        chain_id INTEGER NOT NULL,
        is_vouched INTEGER NOT NULL,
        auth_time INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempt_id BLOB NOT NULL,
        ended_at INTEGER,
        is_contract INTEGER NOT NULL,
        receipt_id BLOB,
        epoch INTEGER NOT NULL,
        elsewhere INTEGER NOT NULL,
        replaced_by BLOB,
        browser TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sessions_by_end ON sessions (coalesce(ended_at, expires_at));
      CREATE INDEX sessions_unended ON sessions (wallet, auth_time) WHERE ended_at IS NULL;
      CREATE TABLE receipts (
        wallet BLOB NOT NULL,
        id BLOB NOT NULL,
        is_contract INTEGER NOT NULL,
        chain_id INTEGER NOT NULL,
        client_id BLOB NOT NULL,
        redirect_uri TEXT NOT NULL,
        scopes TEXT NOT NULL,
        resources TEXT NOT NULL,
        issued_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        withdrawn_at INTEGER,
        checked_at INTEGER NOT NULL,
        sealed BLOB NOT NULL,
        PRIMARY KEY (wallet, id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX receipts_by_end ON receipts (expires_at);
      CREATE INDEX receipts_by_client ON receipts (wallet, (CASE WHEN withdrawn_at IS NULL THEN 0 ELSE 1 END), client_id, issued_at);
      -- The kinds are numbers of ../spent-kinds.ts.
      CREATE TABLE spent (
        hash BLOB NOT NULL,
        kind INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempt_id BLOB NOT NULL,
        PRIMARY KEY (hash, kind)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX spent_by_end ON spent (expires_at);
      CREATE TABLE pushed_requests (
        id BLOB PRIMARY KEY,
        client_id BLOB NOT NULL,
        request TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        spent_at INTEGER,
        attempt_id BLOB
      ) STRICT, WITHOUT ROWID;
      -- A pushed request expires, or is deleted an hour after its use.
      CREATE INDEX pushed_requests_by_end ON pushed_requests (coalesce(spent_at + 3600, expires_at));
      CREATE TABLE clients (
        id TEXT PRIMARY KEY,
        record TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        logo BLOB
      ) STRICT, WITHOUT ROWID;
      -- The unique number of each row bounds the number of rows.
      CREATE TABLE resources (
        uri TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000),
        record TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        number INTEGER NOT NULL,
        algorithm TEXT NOT NULL,
        wrapped BLOB,
        created_at INTEGER NOT NULL,
        starts_at INTEGER NOT NULL,
        retired_at INTEGER,
        UNIQUE (kind, number)
      ) STRICT;
      CREATE INDEX keys_by_end ON keys (retired_at) WHERE retired_at IS NOT NULL;
      -- Each list is one record, so that a rule about the whole list holds if several changes race.
      CREATE TABLE lists (
        name TEXT PRIMARY KEY,
        items TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO lists (name, items) VALUES ('operators', '[]'), ('jobs', '[]'), ('endings', '[]'), ('matching', '[]');
      CREATE TABLE revision (number INTEGER NOT NULL, recent TEXT NOT NULL DEFAULT '') STRICT;
      INSERT INTO revision (number) VALUES (0);
      CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE restorations (
        number INTEGER PRIMARY KEY,
        begun_at INTEGER NOT NULL,
        confirmed_at INTEGER
      ) STRICT;
      CREATE TABLE audit_head (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
      INSERT INTO audit_head VALUES (1, 0, '${NO_LINE}');
      CREATE TABLE audit_lines (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        reason TEXT,
        client_id BLOB,
        grant_id BLOB,
        wallet BLOB,
        operator TEXT,
        id BLOB,
        request_id BLOB,
        network TEXT,
        rest TEXT,
        hash BLOB NOT NULL
      ) STRICT;
      -- Each index holds only the lines that have the column, in the order of the units of a search (audit-search.ts).
      CREATE INDEX audit_lines_by_time ON audit_lines ((at / 16));
      CREATE INDEX audit_lines_by_event ON audit_lines (event, (at / 16));
      CREATE INDEX audit_lines_by_reason ON audit_lines (reason, (at / 16)) WHERE reason IS NOT NULL;
      CREATE INDEX audit_lines_by_client ON audit_lines (client_id, (at / 16)) WHERE client_id IS NOT NULL;
      CREATE INDEX audit_lines_by_grant ON audit_lines (grant_id, (at / 16)) WHERE grant_id IS NOT NULL;
      CREATE INDEX audit_lines_by_wallet ON audit_lines (wallet, (at / 16)) WHERE wallet IS NOT NULL;
      CREATE INDEX audit_lines_by_operator ON audit_lines (operator, (at / 16)) WHERE operator IS NOT NULL;
      CREATE TABLE audit_writers (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL,
        previous INTEGER NOT NULL,
        used_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX audit_writers_by_end ON audit_writers (used_at);
      CREATE TABLE webhooks (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE,
        url TEXT NOT NULL,
        secret TEXT NOT NULL,
        events TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        cursor INTEGER NOT NULL,
        failing_since INTEGER,
        next_at INTEGER NOT NULL,
        paused_at INTEGER,
        deliveries TEXT NOT NULL DEFAULT '[]'
      ) STRICT, WITHOUT ROWID;
      -- One transaction writes at a time, so the numbers of these rows have the order of the commits. The revocation of
      -- one access token of a grant inserts its row itself (grants.ts).
      CREATE TABLE endings (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        key BLOB NOT NULL
      ) STRICT;
      CREATE TRIGGER grant_ended AFTER UPDATE OF ended_at ON grants WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL
      BEGIN
        INSERT INTO endings (at, kind, key) VALUES (new.ended_at, 'grant', new.id);
      END;
      -- The expiry of these rows is their time and one day.
      CREATE TRIGGER client_token_revoked AFTER INSERT ON spent WHEN new.kind = ${SPENT_KINDS.access_token}
      BEGIN
        INSERT INTO endings (at, kind, key) VALUES (new.expires_at - 86400, 'client_token', new.hash);
      END;
      CREATE TRIGGER client_ended AFTER INSERT ON spent WHEN new.kind = ${SPENT_KINDS.client}
      BEGIN
        INSERT INTO endings (at, kind, key) VALUES (new.expires_at - 86400, 'client', new.hash);
      END;
      CREATE TRIGGER client_ended_again AFTER UPDATE OF expires_at ON spent WHEN new.kind = ${SPENT_KINDS.client}
      BEGIN
        INSERT INTO endings (at, kind, key) VALUES (new.expires_at - 86400, 'client', new.hash);
      END;
      -- The number bounds the rows, also if several inserts race.
      CREATE TABLE console_drafts (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE,
        operator TEXT NOT NULL,
        path TEXT NOT NULL,
        content TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE activity (
        period TEXT PRIMARY KEY,
        sign_ins INTEGER NOT NULL,
        sketch BLOB NOT NULL
      ) STRICT;
      -- Used on Citus only (docs/decisions/0019-citus-growth-and-outages.md).
      CREATE TABLE audit_waiting (
        series TEXT NOT NULL,
        position INTEGER NOT NULL,
        writer TEXT NOT NULL,
        number INTEGER NOT NULL,
        at INTEGER NOT NULL,
        size INTEGER NOT NULL,
        lines TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (series, position)
      ) STRICT, WITHOUT ROWID;
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
        grant_id BLOB NOT NULL,
        id BLOB NOT NULL,
        client_id BLOB NOT NULL,
        wallet BLOB NOT NULL,
        digest BLOB NOT NULL,
        receipt_id BLOB,
        attempt_id BLOB,
        apps TEXT NOT NULL,
        user_code TEXT NOT NULL,
        scope TEXT NOT NULL,
        summary TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        answered_at INTEGER,
        used_at INTEGER,
        is_last INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (grant_id, id)
      ) STRICT, WITHOUT ROWID;
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
        id TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        record TEXT NOT NULL
      ) STRICT;
      CREATE INDEX nodes_by_end ON nodes (at);
      INSERT INTO lists (name, items) VALUES ('incidents', '[]');
    `,
  },
  {
    number: 29,
    name: 'limits',
    // A program without this step never creates a grant with a limit, and uses neither the columns nor the table.
    oldest: 26,
    // The counts are in the row of the grant, and no index has one of them. No index has the order of the draws: a grant has at most 10,000 of them,
    // and each draw would write one index more. The trigger belongs to the statement that deletes the grant, also if an older program runs it.
    sql: `
      ALTER TABLE grants ADD COLUMN signed_limit TEXT;
      ALTER TABLE grants ADD COLUMN drawn_from INTEGER;
      ALTER TABLE grants ADD COLUMN drawn_amount INTEGER;
      ALTER TABLE grants ADD COLUMN drawn_uses INTEGER;
      ALTER TABLE grants ADD COLUMN draw_count INTEGER;
      CREATE TABLE draws (
        grant_id BLOB NOT NULL,
        client_id BLOB NOT NULL,
        key BLOB NOT NULL,
        number INTEGER NOT NULL,
        amount INTEGER,
        at INTEGER NOT NULL,
        left_uses INTEGER NOT NULL,
        left_amount INTEGER,
        period_from INTEGER NOT NULL,
        period_end INTEGER,
        returned INTEGER,
        PRIMARY KEY (grant_id, client_id, key)
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER grant_deleted AFTER DELETE ON grants WHEN old.draw_count > 0
      BEGIN
        DELETE FROM draws WHERE grant_id = old.id;
      END;
    `,
  },
]

const TAKEN = 'SELECT * FROM migrations ORDER BY number'

/** The steps that this file has taken, in order. */
export function appliedMigrations(connection: SqliteConnection): TakenStep[] {
  const isThere = connection.prepareRead("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get()
  return isThere ? (connection.prepareRead(TAKEN).all() as unknown as TakenStep[]) : []
}

/** Takes all pending steps in one transaction. Returns the steps taken. */
export async function migrate(connection: SqliteConnection, at: number): Promise<Migration[]> {
  return connection.write(() => {
    connection.execute(
      'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, oldest INTEGER) STRICT',
    )
    const taken = connection.prepareWrite(TAKEN).all() as unknown as TakenStep[]
    refuseUnknown(MIGRATIONS, taken)
    const pending = pendingSteps(MIGRATIONS, taken)
    for (const { number, name, oldest, sql } of pending) {
      connection.execute(sql)
      connection
        .prepareWrite('INSERT INTO migrations (number, name, applied_at, oldest) VALUES (?, ?, ?, ?)')
        .run(number, name, at, oldest)
    }
    return pending
  })
}
