/**
 * Fills the table of grants with valid grants by SQL: two million sign-ins over HTTP would take an hour.
 *
 * Each row is a copy of a row that the service made, with its own ids, wallet and times, so a column that is added later is filled too. Ids
 * begin with a time and a count, as the service's ids do (packages/server/src/domain/model/grant-id.ts), and rows are written in that order: the pages of the
 * table are as full, and as far apart, as after so many sign-ins.
 */
import { DatabaseSync } from 'node:sqlite'
import postgres from 'postgres'

const TIMES = ['created_at', 'rotated_at', 'expires_at', 'refresh_expires_at']
const WEEK = 604_800

/** The SQL expression of a column of a copy. `shift` is the row's offset within a week; the earliest row comes first. */
function valueOf(column: string, id: string, uuid: string, wallet: string): string {
  if (column === 'id') return id
  if (['attempt_id', 'receipt_id'].includes(column)) return uuid
  if (column === 'wallet') return wallet
  return TIMES.includes(column) ? `template.${column} - shift` : `template.${column}`
}

const random = (bytes: number): string => `lower(hex(randomblob(${bytes})))`
/** Ids and addresses are packed (packages/server/src/store/packed.ts): the five bytes after an address are 0 if no digit is a capital letter. */
const UUID = 'randomblob(16)'
const IN_SMALL_LETTERS = '0000000000'
const WALLET = `unhex(${random(20)} || '${IN_SMALL_LETTERS}')`

/** Inserts copies of one row with times within the week before it. */
export function fillSqlite(file: string, count: number): void {
  const time = `printf('%012x', (template.created_at - shift) * 1000)`
  const place = `printf('%03x', number % 4096)`
  const id = `unhex(${time} || '7' || ${place} || 'a' || substr(${random(8)}, 2))`
  changeGrants(file, (database, columns) => {
    database.exec(`
      CREATE TEMP TABLE template AS SELECT * FROM grants LIMIT 1;
      WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
      INSERT INTO grants (${columns.join(', ')})
      SELECT ${columns.map((column) => valueOf(column, id, UUID, WALLET)).join(', ')}
      FROM (SELECT number, ${WEEK} - number * ${WEEK} / ${count} AS shift FROM numbers) CROSS JOIN temp.template AS template`)
  })
}

/** Inserts the same number of copies between any two rows, so that each row that the service made is on a page of its own. */
export function fillSqliteBetween(file: string, count: number): void {
  // The first 10 bytes of an id decide its place. The copies of a row share them, so they are next to that row.
  const id = `unhex(substr(hex(template.id), 1, 20) || ${random(6)})`
  changeGrants(file, (database, columns) => {
    database.exec('CREATE TEMP TABLE template AS SELECT * FROM grants')
    const { made } = database.prepare('SELECT count(*) AS made FROM temp.template').get() as { made: number }
    const copied = columns.map((column) =>
      TIMES.includes(column) ? column : `${valueOf(column, id, UUID, WALLET)} AS ${column}`,
    )
    database.exec(`
      DELETE FROM grants;
      INSERT INTO grants (${columns.join(', ')})
      SELECT * FROM (
        SELECT ${columns.join(', ')} FROM temp.template
        UNION ALL
        SELECT ${copied.join(', ')} FROM temp.template AS template CROSS JOIN (
          WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${Math.ceil(count / made)})
          SELECT number FROM numbers)
      ) ORDER BY id`)
  })
}

/** Drops the indexes of the table, changes the rows, and makes the indexes again, which is much faster. */
function changeGrants(file: string, change: (database: DatabaseSync, columns: string[]) => void): void {
  const database = new DatabaseSync(file)
  // A crash would end the run, so nothing has to be durable.
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000; PRAGMA temp_store = MEMORY')
  const columns = database.prepare("SELECT name FROM pragma_table_info('grants')").all() as { name: string }[]
  const indexes = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'grants' AND sql IS NOT NULL")
    .all() as { name: string; sql: string }[]
  database.exec('BEGIN')
  for (const { name } of indexes) database.exec(`DROP INDEX ${name}`)
  change(
    database,
    columns.map(({ name }) => name),
  )
  for (const { sql } of indexes) database.exec(sql)
  database.exec('COMMIT')
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** A wallet in small letters as the database stores it. */
export const packedWallet = (wallet: string): Buffer => Buffer.from(wallet.slice(2) + IN_SMALL_LETTERS, 'hex')

/** Each copy is of a wallet of its own, unless `wallet` is given, in small letters. */
export async function fillPostgres(url: string, count: number, { wallet }: { wallet?: string } = {}): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  const columns = await sql<{ name: string }[]>`
    SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'grants' AND table_schema = current_schema()`
  const names = columns.map(({ name }) => name)
  const uuid = 'uuid_send(gen_random_uuid())'
  const hexOf = (bytes: string) => `encode(${bytes}, 'hex')`
  const time = "lpad(to_hex((template.created_at::bigint - shift) * 1000), 12, '0')"
  const id = `decode(${time} || '7' || lpad(to_hex(number % 4096), 3, '0') || substr(${hexOf(uuid)}, 17), 'hex')`
  const digits = wallet ? `'${wallet.slice(2)}'` : `left(${hexOf(uuid)} || ${hexOf(uuid)}, 40)`
  const address = `decode(${digits} || '${IN_SMALL_LETTERS}', 'hex')`
  await sql.unsafe(`
    INSERT INTO grants (${names.join(', ')})
    SELECT ${names.map((name) => valueOf(name, id, uuid, address)).join(', ')}
    FROM (SELECT number, (${WEEK} - number::bigint * ${WEEK} / ${count})::int AS shift FROM generate_series(1, ${count}) AS number) AS numbers
    CROSS JOIN (SELECT * FROM grants LIMIT 1) AS template`)
  await sql.unsafe('VACUUM ANALYZE grants')
  await sql.unsafe('CHECKPOINT')
  await sql.end()
}
