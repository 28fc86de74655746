/** The schema, as numbered steps forward. A released step never changes; changes are added as new steps. */
import { NO_LINE } from '../../domain/model/audit-store.ts'
import { pendingSteps, refuseUnknown, type SchemaStep, type TakenStep } from '../../domain/model/schema-steps.ts'
import type { Connection } from './connection.ts'

export type Migration = SchemaStep & { sql: string }

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'ledger',
    oldest: 1,
    // Every table is stored in its primary key's tree: the frequent statements access one row by one key.
    sql: `
      CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        client_id TEXT NOT NULL,
        wallet TEXT NOT NULL,
        scopes TEXT NOT NULL,
        resources TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        refresh_expires_at INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        refresh_key_id TEXT NOT NULL,
        rotated_at INTEGER NOT NULL,
        attempt_id TEXT NOT NULL,
        ended_at INTEGER,
        end_reason TEXT,
        revoked_tokens TEXT NOT NULL DEFAULT '{}'
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX grants_by_wallet ON grants (wallet, client_id);
      CREATE INDEX grants_by_client ON grants (client_id);
      CREATE TABLE wallets (
        address TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL,
        proved_itself INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE sessions (
        hash TEXT PRIMARY KEY,
        wallet TEXT NOT NULL,
        chain_id INTEGER NOT NULL,
        method TEXT NOT NULL,
        auth_time INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempt_id TEXT NOT NULL,
        ended_at INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sessions_by_wallet ON sessions (wallet);
      CREATE TABLE clients (
        id TEXT PRIMARY KEY,
        record TEXT NOT NULL,
        created_at INTEGER NOT NULL
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
      CREATE TABLE revision (number INTEGER NOT NULL) STRICT;
      INSERT INTO revision VALUES (0);
    `,
  },
  {
    number: 2,
    name: 'receipts',
    oldest: 2,
    sql: `
      CREATE TABLE receipts (
        wallet TEXT NOT NULL,
        id TEXT NOT NULL,
        wallet_kind TEXT NOT NULL,
        chain_id INTEGER NOT NULL,
        client_id TEXT NOT NULL,
        redirect_uri TEXT NOT NULL,
        scopes TEXT NOT NULL,
        resources TEXT NOT NULL,
        issued_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        withdrawn_at INTEGER,
        checked_at INTEGER NOT NULL,
        sealed TEXT NOT NULL,
        PRIMARY KEY (wallet, id)
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE grants ADD COLUMN wallet_kind TEXT NOT NULL DEFAULT 'ordinary';
      ALTER TABLE grants ADD COLUMN receipt_id TEXT;
      ALTER TABLE grants ADD COLUMN consented INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE sessions ADD COLUMN wallet_kind TEXT NOT NULL DEFAULT 'ordinary';
      ALTER TABLE sessions ADD COLUMN receipt_id TEXT;
      ALTER TABLE sessions ADD COLUMN epoch INTEGER NOT NULL DEFAULT -1;
    `,
  },
  {
    number: 3,
    name: 'cleaning',
    oldest: 3,
    // The index is on the time at which a row has expired or ended. Refreshes and visits change neither time, so they
    // do not change the index.
    sql: `
      CREATE INDEX grants_by_end ON grants (coalesce(ended_at, expires_at));
      CREATE INDEX sessions_by_end ON sessions (coalesce(ended_at, expires_at));
      CREATE INDEX receipts_by_end ON receipts (expires_at);
      CREATE INDEX keys_by_end ON keys (retired_at) WHERE retired_at IS NOT NULL;
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
    `,
  },
  {
    number: 4,
    name: 'runs',
    oldest: 3,
    // Every program that changes something takes a number, so that a gap in a journal can be detected.
    sql: `
      CREATE TABLE journal (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        last_run INTEGER NOT NULL,
        salt TEXT NOT NULL
      ) STRICT;
      INSERT INTO journal (id, last_run, salt) VALUES (1, 0, lower(hex(randomblob(16))));
      CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        seen_at INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    number: 5,
    name: 'grants by client',
    oldest: 5,
    // On SQLite every index ends with the table's key, so this step is empty and only keeps the numbers of both engines
    // equal.
    sql: '',
  },
  {
    number: 6,
    name: 'openid',
    // A server that does not support bound tokens would refresh one for any caller that has it, without a proof of the
    // key.
    oldest: 6,
    sql: `
      CREATE TABLE spent (
        hash TEXT NOT NULL,
        kind TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        attempt_id TEXT NOT NULL,
        PRIMARY KEY (hash, kind)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX spent_by_end ON spent (expires_at);
      CREATE TABLE pushed_requests (
        id TEXT PRIMARY KEY,
        client_id TEXT NOT NULL,
        request TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        spent_at INTEGER,
        attempt_id TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX pushed_requests_by_end ON pushed_requests (expires_at);
      ALTER TABLE grants ADD COLUMN dpop_jkt TEXT;
      ALTER TABLE grants ADD COLUMN auth_time INTEGER;
      ALTER TABLE grants ADD COLUMN chain_id INTEGER;
      ALTER TABLE grants ADD COLUMN session_hash TEXT;
    `,
  },
  {
    number: 7,
    name: 'journal removed',
    // Servers of the previous version update `journal` before their first change, so they cannot work after this step.
    oldest: 7,
    sql: `
      DROP TABLE runs;
      DROP TABLE journal;
    `,
  },
  {
    number: 8,
    name: 'recent changes',
    // A program that does not record its changes still raises the revision; then everything is read again.
    oldest: 7,
    sql: `ALTER TABLE revision ADD COLUMN recent TEXT NOT NULL DEFAULT ''`,
  },
  {
    number: 9,
    name: 'by wallet',
    // A large table accepts no writes while its indexes are built.
    oldest: 9,
    // Rows that have not ended are separate in each index, so that a page of them costs the same however many have
    // ended. No index has a column that a refresh or a visit changes. A pushed request can be deleted when it expires,
    // or an hour after it was spent.
    sql: `
      DROP INDEX grants_by_wallet;
      CREATE INDEX grants_by_wallet ON grants (wallet, coalesce(ended_at, 0), client_id, created_at);
      CREATE INDEX sessions_unended ON sessions (wallet, auth_time) WHERE ended_at IS NULL;
      DROP INDEX sessions_by_wallet;
      CREATE INDEX receipts_by_client ON receipts (wallet, (CASE WHEN withdrawn_at IS NULL THEN 0 ELSE 1 END), client_id, issued_at);
      DROP INDEX pushed_requests_by_end;
      CREATE INDEX pushed_requests_by_end ON pushed_requests (coalesce(spent_at + 3600, expires_at));
    `,
  },
  {
    number: 10,
    name: 'sessions by themselves',
    // A server of the previous version would redeem a code of a session that has ended, because it checks only the
    // epoch of the wallet.
    oldest: 10,
    sql: `
      ALTER TABLE sessions ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE sessions ADD COLUMN replaced_by TEXT;
      ALTER TABLE grants ADD COLUMN session_receipt_id TEXT;
    `,
  },
  {
    number: 11,
    name: 'resources',
    // A server of the previous version would issue tokens with every scope of a grant for every resource of the grant.
    oldest: 11,
    // The unique number of each row bounds the number of rows.
    sql: `
      CREATE TABLE resources (
        uri TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000),
        record TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE grants ADD COLUMN scopes_by_resource TEXT;
    `,
  },
  {
    number: 12,
    name: 'operators',
    oldest: 11,
    // Each list is one record, so that a rule about the whole list holds if several changes race.
    sql: `
      CREATE TABLE lists (
        name TEXT PRIMARY KEY,
        items TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO lists (name, items) VALUES ('operators', '[]'), ('jobs', '[]');
      `,
  },
  {
    number: 13,
    name: 'audit trail',
    oldest: 11,
    // Each index holds only the lines that have the column. SQLite appends the primary key, so each index has the order of a search.
    sql: `
      CREATE TABLE audit_head (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
      INSERT INTO audit_head VALUES (1, 0, '${NO_LINE}');
      CREATE TABLE audit_lines (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        reason TEXT,
        client_id TEXT,
        grant_id TEXT,
        wallet TEXT,
        operator TEXT,
        line TEXT NOT NULL,
        hash TEXT NOT NULL
      ) STRICT;
      CREATE INDEX audit_lines_by_time ON audit_lines (at);
      CREATE INDEX audit_lines_by_event ON audit_lines (event, at);
      CREATE INDEX audit_lines_by_reason ON audit_lines (reason, at) WHERE reason IS NOT NULL;
      CREATE INDEX audit_lines_by_client ON audit_lines (client_id, at) WHERE client_id IS NOT NULL;
      CREATE INDEX audit_lines_by_grant ON audit_lines (grant_id, at) WHERE grant_id IS NOT NULL;
      CREATE INDEX audit_lines_by_wallet ON audit_lines (wallet, at) WHERE wallet IS NOT NULL;
      CREATE INDEX audit_lines_by_operator ON audit_lines (operator, at) WHERE operator IS NOT NULL;
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
        paused_at INTEGER
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    number: 14,
    name: 'lists of grants',
    // A large table accepts no writes while its indexes are built.
    oldest: 11,
    // SQLite appends the primary key. The ids begin with a time, so each list has the order of an index.
    sql: `
      CREATE INDEX grants_of_wallet ON grants (wallet);
      DROP INDEX grants_by_client;
      CREATE INDEX grants_by_client ON grants (client_id, (CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END));
    `,
  },
  {
    number: 15,
    name: 'writers of the audit trail',
    oldest: 13,
    sql: `
      CREATE TABLE audit_writers (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL,
        previous INTEGER NOT NULL,
        used_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX audit_writers_by_end ON audit_writers (used_at);
    `,
  },
  {
    number: 16,
    name: 'endings of wallets',
    // An earlier server stores no epoch. A job that ends the grants of a wallet then also ends grants that are newer than the job.
    oldest: 13,
    sql: `
      ALTER TABLE grants ADD COLUMN epoch INTEGER;
      INSERT INTO lists (name, items) VALUES ('endings', '[]');
    `,
  },
]

/** The steps that this file has taken, in order. */
export function appliedMigrations(connection: Connection): TakenStep[] {
  const columns = columnsOf(connection.prepareRead(COLUMNS).all())
  if (columns.length === 0) return []
  const oldest = columns.includes('oldest') ? 'oldest' : 'NULL'
  return connection
    .prepareRead(`SELECT number, name, applied_at, ${oldest} AS oldest FROM migrations ORDER BY number`)
    .all()
    .map((row) => row as unknown as TakenStep)
}

const COLUMNS = "SELECT name FROM pragma_table_info('migrations')"

function columnsOf(rows: unknown[]): string[] {
  return (rows as { name: string }[]).map(({ name }) => name)
}

/** Takes all pending steps in one transaction. Returns the steps taken. */
export async function migrate(connection: Connection, at: number): Promise<Migration[]> {
  return connection.write(() => {
    connection.execute(
      'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, oldest INTEGER) STRICT',
    )
    // A table of an earlier version may not have this column yet.
    if (!columnsOf(connection.prepareWrite(COLUMNS).all()).includes('oldest'))
      connection.execute('ALTER TABLE migrations ADD COLUMN oldest INTEGER')
    const taken = connection.prepareWrite('SELECT number, name, applied_at, oldest FROM migrations ORDER BY number').all()
    refuseUnknown(MIGRATIONS, taken as unknown as TakenStep[])
    const pending = pendingSteps(MIGRATIONS, taken as unknown as TakenStep[])
    for (const { number, name, oldest, sql } of pending) {
      connection.execute(sql)
      connection
        .prepareWrite('INSERT INTO migrations (number, name, applied_at, oldest) VALUES (?, ?, ?, ?)')
        .run(number, name, at, oldest)
    }
    return pending
  })
}
