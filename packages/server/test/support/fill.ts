/** Inserts rows straight into the tables of PostgreSQL, for tests that need more rows than the store could insert in time. */
import { pack } from '../../src/store/packed.ts'

/** Every column without a default, as an SQL expression of `n`. Ids are short texts: `g1`, `c1`, `w1`, `h1`, `r1`. */
const ROWS = {
  grants: {
    created_at: '1', expires_at: '9e9', refresh_expires_at: '9e9', rotated_at: '1', auth_time: '1', chain_id: '1', generation: '0', epoch: '0',
    is_contract: 'false', consented: 'false', id: packed("'g' || n"), client_id: packed("'c' || n % 100"), wallet: packed("'w' || n % 1000"),
    attempt_id: packed("'a'"), refresh_key_id: "'k'", scopes: "'s'", resources: "''",
  },
  sessions: {
    chain_id: '1', auth_time: 'n', last_seen_at: 'n', expires_at: '9e9', epoch: '0', is_vouched: 'false', is_contract: 'false', elsewhere: 'false',
    hash: packed("'h' || n"), wallet: packed("'w' || n % 1000"), attempt_id: packed("'a'"), browser: "''",
  },
  wallets: { epoch: '0', proved_itself: 'true', address: packed("'w' || n") },
  receipts: {
    chain_id: '1', issued_at: 'n', expires_at: '9e9', checked_at: 'n', is_contract: 'false', wallet: packed("'w' || n % 1000"), id: packed("'r' || n"),
    client_id: packed("'c'"), redirect_uri: "'u'", scopes: "'s'", resources: "''", sealed: "''",
  },
  spent: { expires_at: 'n', kind: '1', hash: packed("'h' || n"), attempt_id: packed("'a'") },
  pushed_requests: { expires_at: 'n', id: packed("'p' || n"), client_id: packed("'c'"), request: "'{}'" },
  approvals: {
    asked_at: 'n', expires_at: 'n', grant_id: packed("'g' || n"), id: packed("'i' || n"), client_id: packed("'c'"), wallet: packed("'w' || n % 1000"),
    digest: packed("'d'"), apps: "'c'", user_code: "'u' || n", scope: "'s'", summary: "'s'",
  },
  draws: { grant_id: packed("'g' || n"), client_id: packed("'c'"), key: packed("'k' || n"), number: '1', at: 'n', left_uses: '0', period_from: '1' },
  audit_waiting: {
    series: packed("'b' || n"), position: '1', writer: "'w'", number: '1', at: '1', size: '1', lines: "'[]'", previous: "''", hash: "''",
  },
} // biome-ignore format: lists of columns

export type FilledTable = keyof typeof ROWS

/** The statement that inserts so many rows. `given`: columns with other expressions. */
export function fillOf(table: FilledTable, rows: number, given: Record<string, string> = {}): string {
  const columns = { ...ROWS[table], ...given }
  return `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
    SELECT ${Object.values(columns).join(', ')} FROM generate_series(1, ${rows}) AS n`
}

/** The packed form of an SQL expression for a short text. */
export function packed(expression: string): string {
  return `'\\x00'::bytea || convert_to(${expression}, 'UTF8')`
}

/** The packed form of a text, as an SQL literal. */
export function packedLiteral(text: string): string {
  return `'\\x${pack(text).toString('hex')}'::bytea`
}
