/** Recovers a lost PostgreSQL server with the commands of docs/operating/recover.md. */
import { chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { freePorts } from './free-ports.ts'
import type { machineIn } from './operations-page.ts'
import { configure, type PostgresServer, serverIn } from './postgres-server.ts'
import { connect } from './sql.ts'

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
