import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { CommandError } from '../../operators/terminal/command.ts'

/**
 * Lets one `grantor start` at a time use a data folder: a second one would register its own addresses for the demo apps of the first.
 * The operating system releases SQLite's lock when the process ends, even if the process is killed.
 *
 * @returns what releases the folder.
 */
export function lockFolder(folder: string): () => void {
  const lock = new DatabaseSync(join(folder, 'running.lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    const { errstr } = error as { errstr?: string }
    if (errstr !== 'database is locked') throw error
    throw new CommandError(
      `another grantor start uses the folder ${folder}. Stop it, or start a second instance with a folder and ports of its own: grantor start --data other-data --ports 5000`,
    )
  }
  return () => lock.close()
}
