/** The folder of the database of a test issuer, which is removed with the issuer. */
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** In memory on Linux. The image of Grantor has no `/tmp`. */
const IN_MEMORY = '/dev/shm'

const PREFIX = `grantor-test-issuer-${process.pid}-`

const present = new Set<string>()
let isWatched = false

/**
 * A new folder, in memory if the system has a file system for that and `TMPDIR` names no other folder. The folder is also removed when the
 * process exits.
 */
export function makeDatabaseFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(parentFolder(), PREFIX))
  present.add(path)
  if (!isWatched) process.once('exit', () => [...present].forEach(removeFolder))
  isWatched = true
  return { path, remove: () => removeFolder(path) }
}

function parentFolder(): string {
  const folder = tmpdir()
  return folder === '/tmp' && isWritable(IN_MEMORY) ? IN_MEMORY : folder
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function removeFolder(path: string): void {
  present.delete(path)
  rmSync(path, { recursive: true, force: true })
}
