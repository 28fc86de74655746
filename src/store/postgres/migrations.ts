/** The schema, as numbered steps forward, the same numbers as SQLite's. A step that has landed never changes; the next one comes after it. */
import { pendingSteps, refuseUnknown, type SchemaStep, type TakenStep } from '../../grants/schema-steps.ts'
import { codeOf } from './connection/errors.ts'
import type { Session } from './connection/server.ts'
import { distribute, prepareToDistribute } from './distribution.ts'

export type Migration = SchemaStep & { sql: string }

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'ledger',
    oldest: 1,
    // Texts compare byte by byte, as on SQLite. The grants leave room beside each row, so that a rotation, which touches
    // no index, stays on its page; what it leaves behind is swept up early.
    sql: `
      CREATE TABLE grants (
        id text COLLATE "C" PRIMARY KEY,
        client_id text COLLATE "C" NOT NULL,
        wallet text COLLATE "C" NOT NULL,
        scopes jsonb NOT NULL,
        resources jsonb NOT NULL,
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        refresh_expires_at bigint NOT NULL,
        generation bigint NOT NULL,
        refresh_key_id text COLLATE "C" NOT NULL,
        rotated_at bigint NOT NULL,
        attempt_id text COLLATE "C" NOT NULL,
        ended_at bigint,
        end_reason text COLLATE "C",
        revoked_tokens jsonb NOT NULL DEFAULT '{}'
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
      CREATE INDEX grants_by_wallet ON grants (wallet, client_id);
      CREATE INDEX grants_by_client ON grants (client_id);
      CREATE TABLE wallets (
        address text COLLATE "C" PRIMARY KEY,
        epoch bigint NOT NULL,
        proved_itself boolean NOT NULL
      );
      CREATE TABLE sessions (
        hash text COLLATE "C" PRIMARY KEY,
        wallet text COLLATE "C" NOT NULL,
        chain_id bigint NOT NULL,
        method text COLLATE "C" NOT NULL,
        auth_time bigint NOT NULL,
        last_seen_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        attempt_id text COLLATE "C" NOT NULL,
        ended_at bigint
      ) WITH (fillfactor = 90);
      CREATE INDEX sessions_by_wallet ON sessions (wallet);
      CREATE TABLE clients (
        id text COLLATE "C" PRIMARY KEY,
        record text NOT NULL,
        created_at bigint NOT NULL
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
      CREATE TABLE revision (id integer PRIMARY KEY CHECK (id = 1), number bigint NOT NULL);
      INSERT INTO revision VALUES (1, 0);
    `,
  },
  {
    number: 2,
    name: 'receipts',
    oldest: 2,
    sql: `
      CREATE TABLE receipts (
        wallet text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        wallet_kind text COLLATE "C" NOT NULL,
        chain_id bigint NOT NULL,
        client_id text COLLATE "C" NOT NULL,
        redirect_uri text COLLATE "C" NOT NULL,
        scopes jsonb NOT NULL,
        resources jsonb NOT NULL,
        issued_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        withdrawn_at bigint,
        checked_at bigint NOT NULL,
        sealed text NOT NULL,
        PRIMARY KEY (wallet, id)
      );
      ALTER TABLE grants ADD COLUMN wallet_kind text COLLATE "C" NOT NULL DEFAULT 'ordinary';
      ALTER TABLE grants ADD COLUMN receipt_id text COLLATE "C";
      ALTER TABLE grants ADD COLUMN consented boolean NOT NULL DEFAULT false;
      ALTER TABLE sessions ADD COLUMN wallet_kind text COLLATE "C" NOT NULL DEFAULT 'ordinary';
      ALTER TABLE sessions ADD COLUMN receipt_id text COLLATE "C";
      ALTER TABLE sessions ADD COLUMN epoch bigint NOT NULL DEFAULT -1;
    `,
  },
  {
    number: 3,
    name: 'cleaning',
    oldest: 3,
    // Indexed is the moment a row is over. A refresh and a visit change neither of the two times, so they leave the index alone.
    sql: `
      CREATE INDEX grants_by_end ON grants (coalesce(ended_at, expires_at));
      CREATE INDEX sessions_by_end ON sessions (coalesce(ended_at, expires_at));
      CREATE INDEX receipts_by_end ON receipts (expires_at);
      CREATE INDEX keys_by_end ON keys (retired_at) WHERE retired_at IS NOT NULL;
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
    `,
  },
  {
    number: 4,
    name: 'runs',
    oldest: 3,
    // Every program that changes something takes a number, so that a journal can be found to be complete.
    sql: `
      CREATE TABLE journal (
        id integer PRIMARY KEY CHECK (id = 1),
        last_run bigint NOT NULL,
        salt text NOT NULL
      );
      INSERT INTO journal (id, last_run, salt) VALUES (1, 0, replace(gen_random_uuid()::text, '-', ''));
      CREATE TABLE runs (
        number bigint PRIMARY KEY,
        seen_at bigint NOT NULL
      );
    `,
  },
  {
    number: 5,
    name: 'grants by client',
    // Nothing is other than it was, but a large table takes no writes while the index is built.
    oldest: 5,
    // A client's grants are listed and ended in the order they were made. By the client alone that order costs a sort of all
    // the client has, or a walk through the whole table, for each five hundred. (With the id in it, this index would be
    // taken for the primary key.)
    sql: `
      CREATE INDEX grants_by_client_and_age ON grants (client_id, created_at);
      DROP INDEX grants_by_client;
    `,
  },
  {
    number: 6,
    name: 'openid',
    // A server that does not know of bound tokens would refresh one for whoever has it, without a proof of its key.
    oldest: 6,
    sql: `
      CREATE TABLE spent (
        hash text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        expires_at bigint NOT NULL,
        attempt_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (hash, kind)
      );
      CREATE INDEX spent_by_end ON spent (expires_at);
      CREATE TABLE pushed_requests (
        id text COLLATE "C" PRIMARY KEY,
        client_id text COLLATE "C" NOT NULL,
        request text NOT NULL,
        expires_at bigint NOT NULL,
        spent_at bigint,
        attempt_id text COLLATE "C"
      );
      CREATE INDEX pushed_requests_by_end ON pushed_requests (expires_at);
      ALTER TABLE grants ADD COLUMN dpop_jkt text COLLATE "C";
      ALTER TABLE grants ADD COLUMN auth_time bigint;
      ALTER TABLE grants ADD COLUMN chain_id bigint;
      ALTER TABLE grants ADD COLUMN session_hash text COLLATE "C";
    `,
  },
  {
    number: 7,
    name: 'journal removed',
    // Servers of the version before update `journal` before their first change, so they cannot work after this step.
    oldest: 7,
    sql: `
      DROP TABLE runs;
      DROP TABLE journal;
    `,
  },
  {
    number: 8,
    name: 'recent changes',
    // A program that does not write them down raises the revision all the same; then everything is read again.
    oldest: 7,
    sql: `ALTER TABLE revision ADD COLUMN recent text COLLATE "C" NOT NULL DEFAULT ''`,
  },
  {
    number: 9,
    name: 'by wallet',
    // A large table takes no writes while its indexes are built.
    oldest: 9,
    // What has not ended lies apart, so that a page of it costs the same however much has ended. No index holds a column that a
    // refresh or a visit changes. A pushed request is over when it expires, or an hour after it was spent.
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
    // A server of before would redeem a code of a session that has ended: it looks at the epoch of the wallet only.
    oldest: 10,
    sql: `
      ALTER TABLE sessions ADD COLUMN elsewhere boolean NOT NULL DEFAULT false;
      ALTER TABLE sessions ADD COLUMN replaced_by text COLLATE "C";
      ALTER TABLE grants ADD COLUMN session_receipt_id text COLLATE "C";
    `,
  },
]

// Two at once in an empty database: the one that comes second finds the table's name taken only when it makes it.
const CAME_SECOND = ['23505', '42P07', '42710', '40P01', '40001']
/** A lock that was not to be had. */
const LOCKED = '55P03'

/** The steps this database has taken, in order. */
export async function appliedMigrations(session: Session): Promise<TakenStep[]> {
  try {
    // Through the whole row, because a table that an earlier version made has no column `oldest` yet.
    return await session.query<TakenStep>(
      `SELECT number, name, applied_at, (to_jsonb(migrations) ->> 'oldest')::bigint AS oldest FROM migrations ORDER BY number`,
    )
  } catch (error) {
    if (codeOf(error) === '42P01') return []
    throw error
  }
}

/** For how many milliseconds a step waits for a table. Everybody else's statements wait behind it so long, and no longer. */
const LOCK_AT_MOST = 500
const LOCK_TRIED = 60

/**
 * Takes every step the database has not taken yet, in one transaction. Of several at once one takes them; the others
 * wait for its lock on the table of steps and find nothing left. Returns the steps taken.
 */
export async function migrate(session: Session, at: number): Promise<Migration[]> {
  for (let tried = 1; ; tried++) {
    try {
      return await inTransaction(session, async () => {
        await prepareToDistribute(session)
        const taken = await takeSteps(session, at)
        await distribute(session)
        return taken
      })
    } catch (error) {
      const code = codeOf(error)
      if (!(CAME_SECOND.includes(code) && tried <= 5) && !(code === LOCKED && tried <= LOCK_TRIED)) throw error
      // Serving nodes catch up meanwhile with what had to wait.
      if (code === LOCKED) await new Promise((resolve) => setTimeout(resolve, LOCK_AT_MOST * (1 + Math.random())))
    }
  }
}

async function inTransaction<Result>(session: Session, steps: () => Promise<Result>): Promise<Result> {
  await session.query('BEGIN')
  try {
    const result = await steps()
    await session.query('COMMIT')
    return result
  } catch (error) {
    // Where the connection went, it is undone already.
    await session.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

async function takeSteps(session: Session, at: number): Promise<Migration[]> {
  await session.query(
    'CREATE TABLE IF NOT EXISTS migrations (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL, oldest bigint)',
  )
  // Nodes that are starting may still read it.
  await session.query('LOCK TABLE migrations IN SHARE ROW EXCLUSIVE MODE')
  const taken = await appliedMigrations(session)
  refuseUnknown(MIGRATIONS, taken)
  const pending = pendingSteps(MIGRATIONS, taken)
  if (pending.length === 0) return []
  // A table that somebody reads for long is not waited for in front of everybody else.
  await session.query(`SET LOCAL lock_timeout = ${LOCK_AT_MOST}`)
  await session.query('ALTER TABLE migrations ADD COLUMN IF NOT EXISTS oldest bigint')
  for (const { number, name, oldest, sql: step } of pending) {
    // One by one: Citus cannot pass several statements in one text to other machines.
    for (const statement of step.split(/;\s*$/m)) if (statement.trim() !== '') await session.query(statement)
    await session.query('INSERT INTO migrations (number, name, applied_at, oldest) VALUES ($1, $2, $3, $4)', [
      number,
      name,
      at,
      oldest,
    ])
  }
  return pending
}
