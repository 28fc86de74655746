/**
 * Makes a standby of a running server: a copy of the data, made while the server runs (PostgreSQL's manual, 25.3.4), and streaming
 * replication afterwards. It uses SQL and copies files, because the npm package has no pg_basebackup.
 */

import { chownSync, readdirSync } from 'node:fs'
import { chown, copyFile, mkdir, opendir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { freePorts } from './free-ports.ts'
import type { machineIn } from './operations-page.ts'
import { configure, type Identity, type PostgresServer, serverIn, startPostgres } from './postgres-server.ts'
import { connect, type Sql } from './sql.ts'

/** The settings of a server that a standby can follow. */
export const FOLLOWED = {
  wal_level: 'replica',
  max_wal_senders: '10',
  wal_keep_size: "'512MB'",
  hot_standby: 'on',
  // A standby retries soon if its primary does not respond.
  wal_retrieve_retry_interval: "'200ms'",
}

/** It only ends what hangs. */
const PATIENCE_MS = 180_000

/** A primary and its synchronous standby, for one test. `url` names both, and leads to the one that takes writes. */
export async function startPair() {
  const primary = await startPostgres(FOLLOWED)
  const [port = 0] = await freePorts(1)
  const standby = serverIn(primary.machine, join(primary.machine.home, 'standby'), port)
  onTestFinished(async () => {
    await standby.stop('immediate')
    await primary.remove()
  })
  await follow(primary, standby)
  const both = `127.0.0.1:${primary.port},127.0.0.1:${port}/`
  const url = `${primary.urlOf('postgres').replace(`127.0.0.1:${primary.port}/`, both)}?target_session_attrs=read-write`
  return { primary, standby, url }
}

/**
 * Makes a stopped server the standby of a running one, replaces its data, and starts it. Resolves when every commit of the primary
 * waits for the standby.
 */
export async function follow(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const { folder, port } = standby
  await rm(folder, { recursive: true, force: true })
  await copyData(primary, folder)
  const { username, password } = new URL(primary.urlOf('postgres'))
  const from = `host=127.0.0.1 port=${primary.port} user=${username} password=${password} application_name=standby`
  configure(folder, { port, primary_conninfo: `'${from}'` })
  // Remove the settings that the primary got while it ran: it waits for a standby, and this server has none.
  await write(primary, join(folder, 'postgresql.auto.conf'), '')
  await write(primary, join(folder, 'standby.signal'), '')
  await standby.start()
  await waitForIt(primary)
}

/** From now on, commits of the primary wait for no standby. */
export async function stopWaiting(primary: PostgresServer): Promise<void> {
  await asking(primary, async (sql) => {
    await sql`ALTER SYSTEM RESET synchronous_standby_names`
    await sql`SELECT pg_reload_conf()`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'async'`)
  })
}

/** Resolves when the standby has every commit of the primary, and receives nothing more. */
export async function stopFollowing(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  await catchUp(primary)
  await asking(standby, async (sql) => {
    await sql`ALTER SYSTEM SET primary_conninfo = ''`
    await sql`SELECT pg_reload_conf()`
  })
  await asking(primary, (sql) =>
    until(sql, (sql) => sql`SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = 'standby')`),
  )
}

/** Resolves when the standby has every commit that the primary has now. */
export async function catchUp(primary: PostgresServer): Promise<void> {
  await asking(primary, async (sql) => {
    const [now] = await sql<{ lsn: string }[]>`SELECT pg_current_wal_flush_lsn()::text AS lsn`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= ${now?.lsn ?? ''}::pg_lsn`)
  })
}

/** Promotes a standby to primary. Resolves when the new primary accepts writes. It does not wait for a standby. */
export async function promote(standby: PostgresServer): Promise<void> {
  const [answer] = await asking(standby, (sql) => sql<{ done: boolean }[]>`SELECT pg_promote(true, 180) AS done`)
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

/** A file that is deleted while it is copied is not needed by a standby. */
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

/** When this resolves, the standby has every earlier commit, and later commits are acknowledged only when the standby has stored them. */
async function waitForIt(primary: PostgresServer): Promise<void> {
  await asking(primary, async (sql) => {
    // No commit waits while the standby catches up.
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`)
    await sql`ALTER SYSTEM SET synchronous_standby_names = '*'`
    await sql`SELECT pg_reload_conf()`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
    // The checkpointer applies the setting a moment later. Commits before that have not waited. It reads its settings before a checkpoint.
    await pause(100)
    await sql`CHECKPOINT`
    const [now] = await sql<{ lsn: string }[]>`SELECT pg_current_wal_flush_lsn()::text AS lsn`
    await until(sql, (sql) => sql`SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= ${now?.lsn ?? ''}::pg_lsn`)
  })
}

async function until(sql: Sql, find: (sql: Sql) => PromiseLike<readonly unknown[]>): Promise<void> {
  for (const since = performance.now(); performance.now() - since < PATIENCE_MS; await pause(20)) {
    if ((await find(sql)).length > 0) return
  }
  throw new Error('the standby does not follow in time')
}

async function asking<Result>(server: PostgresServer, ask: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect(server.urlOf('postgres'))
  try {
    return await ask(sql)
  } finally {
    await sql.end()
  }
}

type Recovery = {
  machine: ReturnType<typeof machineIn>
  /** the folder of the machine */
  folder: string
  /** changes the data folder before the server starts */
  prepare?: (data: string) => void
}

/** Makes a data folder with the commands of the page, and starts a server on this folder as PostgreSQL's user. */
export async function recoverServer(lost: PostgresServer, { machine, folder, prepare }: Recovery): Promise<PostgresServer> {
  expect(machine.paste('recover-postgres')).toMatchObject({ exit: 0, err: '' })
  const data = join(folder, 'var/lib/postgresql/grantor')
  prepare?.(data)
  giveTo(lost, folder)
  const [port = 0] = await freePorts(1)
  configure(data, { port })
  const recovered = serverIn(lost.machine, data, port)
  onTestFinished(() => recovered.remove())
  await recovered.start()
  await waitForRow(recovered, 'SELECT 1 WHERE NOT pg_is_in_recovery()')
  return recovered
}

/** Gives a folder to the user who runs the server. */
export function giveTo({ machine: { identity } }: PostgresServer, folder: string): void {
  const { uid, gid } = identity
  if (uid === undefined || gid === undefined) return
  for (const entry of readdirSync(folder, { recursive: true })) chownSync(join(folder, String(entry)), uid, gid)
  chownSync(folder, uid, gid)
}

/** Repeats a query until the query returns a row. */
export async function waitForRow(server: PostgresServer, query: string): Promise<void> {
  const sql = connect(server.urlOf('postgres'))
  while ((await sql.unsafe(query)).length === 0) await pause(20)
  await sql.end()
}
