/**
 * A standby of a running server: a copy of its data made while it works (PostgreSQL's manual, 25.3.4), which then follows
 * it by streaming. Done in SQL and by copying files, because the package brings no pg_basebackup.
 */
import { chown, copyFile, mkdir, opendir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { configure, type Identity, type PostgresServer } from './postgres-server.ts'

/** What a server needs so that another one can follow it. */
export const FOLLOWED = {
  wal_level: 'replica',
  max_wal_senders: '10',
  wal_keep_size: "'512MB'",
  hot_standby: 'on',
  // a standby whose primary is away for a moment asks again soon
  wal_retrieve_retry_interval: "'200ms'",
}

const PATIENCE_MS = 30_000

/**
 * Makes a server that does not run the standby of one that does, whatever its data was before, and starts it. Resolves
 * when every commit of the primary waits for it.
 */
export async function follow(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const { folder, port } = standby
  await rm(folder, { recursive: true, force: true })
  await copyData(primary, folder)
  const { username, password } = new URL(primary.urlOf('postgres'))
  const from = `host=127.0.0.1 port=${primary.port} user=${username} password=${password} application_name=standby`
  configure(folder, { port, primary_conninfo: `'${from}'` })
  // What the primary was told while it ran: it waits for a standby, and this one has none.
  await write(primary, join(folder, 'postgresql.auto.conf'), '')
  await write(primary, join(folder, 'standby.signal'), '')
  await standby.start()
  await waitForIt(primary)
}

/** Makes a standby the primary. Resolves when it takes writes; it waits for no other then. */
export async function promote(standby: PostgresServer): Promise<void> {
  const [answer] = await asking(standby, (sql) => sql<{ done: boolean }[]>`SELECT pg_promote(true, 30) AS done`)
  if (!answer?.done) throw new Error('the standby was not promoted in time')
}

async function copyData(primary: PostgresServer, folder: string): Promise<void> {
  await asking(primary, async (sql) => {
    await sql`SELECT pg_backup_start('standby', true)`
    await copyFolder(primary.folder, folder, primary.machine.identity)
    const [stopped] = await sql<{ labelfile: string }[]>`SELECT labelfile FROM pg_backup_stop(false)`
    await write(primary, join(folder, 'backup_label'), stopped?.labelfile ?? '')
  })
}

/** Files that go while they are copied are none that a standby needs. */
async function copyFolder(from: string, to: string, owner: Identity): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  await own(to, owner)
  for await (const entry of await opendir(from)) {
    if (entry.name === 'postmaster.pid' || entry.name === 'postmaster.opts') continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyFolder(source, target, owner)
    else if (!from.endsWith('/pg_wal')) await copyIfThere(source, target, owner)
  }
}

async function copyIfThere(source: string, target: string, owner: Identity): Promise<void> {
  try {
    await copyFile(source, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  await own(target, owner)
}

async function write({ machine }: PostgresServer, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 })
  await own(path, machine.identity)
}

async function own(path: string, { uid, gid }: Identity): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
}

/** From then on nothing is acknowledged that the standby has not stored too, and what was acknowledged before, it has. */
async function waitForIt(primary: PostgresServer): Promise<void> {
  await asking(primary, async (sql) => {
    // Nobody waits while it catches up.
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`)
    await sql`ALTER SYSTEM SET synchronous_standby_names = '*'`
    await sql`SELECT pg_reload_conf()`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
    // Another process of the server turns the waiting on, a moment later; commits until then have not waited.
    await pause(100)
    const [now] = await sql<{ lsn: string }[]>`SELECT pg_current_wal_flush_lsn()::text AS lsn`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= ${now?.lsn ?? ''}::pg_lsn`)
  })
}

async function until(sql: postgres.Sql, find: (sql: postgres.Sql) => PromiseLike<readonly unknown[]>): Promise<void> {
  for (const since = performance.now(); performance.now() - since < PATIENCE_MS; await pause(20)) {
    if ((await find(sql)).length > 0) return
  }
  throw new Error('the standby does not follow in time')
}

async function asking<Result>(server: PostgresServer, ask: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(server.urlOf('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false })
  try {
    return await ask(sql)
  } finally {
    await sql.end()
  }
}
