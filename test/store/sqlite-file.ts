/** A SQLite file for one test, in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Resolves to a path where no file is yet; the folder goes when the test is over. */
export async function newSqlitePath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'grantor-store-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'grantor.sqlite')
}
