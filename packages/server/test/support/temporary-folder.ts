/** The folder of the databases and browser profiles of a test run. */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NAME = 'grantor-tests-'
const ENOUGH = 4 * 2 ** 30

/**
 * A folder in memory, if Linux offers 4 GB of it, else the system's temporary folder. A commit of a test's database then does not
 * wait for the disk. The folder is removed when this process exits, or by the next run if this process is killed.
 */
export function temporaryFolder(): string {
  if (process.platform !== 'linux' || !existsSync(MEMORY)) return tmpdir()
  for (const name of readdirSync(MEMORY).filter((entry) => entry.startsWith(NAME))) {
    if (!existsSync(`/proc/${name.slice(NAME.length)}`)) rmSync(join(MEMORY, name), { recursive: true, force: true })
  }
  const { bavail, bsize } = statfsSync(MEMORY)
  if (bavail * bsize < ENOUGH) return tmpdir()
  const folder = join(MEMORY, `${NAME}${process.pid}`)
  mkdirSync(folder)
  // PostgreSQL does not run as root: it is another user who writes here
  chmodSync(folder, 0o1777)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
