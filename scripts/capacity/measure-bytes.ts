/**
 * Prints the bytes of each row with its indexes, and of the log for each operation, on SQLite and on PostgreSQL, for docs/operating/capacity.md.
 *
 *     node scripts/capacity/measure-bytes.ts [--rows 3000]
 *
 * The script starts its own databases. It takes about a minute.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { migrateSqlite, openSqliteStore } from '../../packages/server/src/store/sqlite/index.ts'
import { addressOf, migratePostgres, openPostgresStore } from '../../packages/server/test/support/postgres-database.ts'
import { startPostgres } from '../../packages/server/test/support/postgres-server.ts'
import { connect } from '../../packages/server/test/support/sql.ts'
import { type Measured, measureBytes, onPostgres, onSqlite } from './row-bytes.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '3000' } } })
const ROWS = Number(values.rows)
/** The server writes no whole pages to its log, whose number depends on the time between checkpoints. */
const SETTINGS = { full_page_writes: 'off', shared_buffers: "'256MB'" }

async function measureSqlite(): Promise<Measured> {
  // In memory if there is such a folder: each operation is a commit, which waits for a disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'grantor-bytes-'))
  const path = join(folder, 'grantor.db')
  try {
    await migrateSqlite(path, 0)
    const store = openSqliteStore(path)
    const engine = onSqlite(store, path)
    const measured = await measureBytes(engine, ROWS, { more: ['endings'] })
    engine.close()
    await store.close()
    return measured
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measurePostgres(): Promise<Measured> {
  const server = await startPostgres(SETTINGS)
  try {
    const url = server.urlOf('postgres')
    await migratePostgres(addressOf(url), 0)
    const [store, sql] = [await openPostgresStore(addressOf(url), { clock: 'given' }), connect(url)]
    const measured = await measureBytes(onPostgres(store, sql), ROWS)
    await Promise.all([store.close(), sql.end()])
    return measured
  } finally {
    await server.remove()
  }
}

const bytes = (value: number | undefined) => (value === undefined ? '' : String(Math.round(value)))

function print(name: string, { rows, log }: Measured): void {
  console.log(`\n| ${name}: row of | row | indexes | together |\n| --- | ---: | ---: | ---: |`)
  for (const [table, { row, indexes }] of Object.entries(rows))
    console.log(`| ${table} | ${bytes(row)} | ${bytes(indexes)} | ${bytes(row + indexes)} |`)
  console.log(`\n| ${name}: log of | bytes |\n| --- | ---: |`)
  for (const [operation, size] of Object.entries(log)) console.log(`| ${operation} | ${bytes(size)} |`)
}

print('SQLite', await measureSqlite())
print('PostgreSQL', await measurePostgres())
