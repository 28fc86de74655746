/** The SQLite file and its folder. */
import { closeSync, openSync, readSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type CheckResult, ok, unchecked, warning, wrong } from './check.ts'

/** Types of file systems on other machines (statfs(2)), on which SQLite's locks are not reliable. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
])
const FUSE = 0x65735546
const MEGABYTE = 1_000_000
const LEAST_MEGABYTES = 200
const FEW_MEGABYTES = 2_000

export function checkSqliteFile(path: string): CheckResult[] {
  const folder = dirname(path)
  try {
    return [...checkPermissions(path, folder), ...checkJournal(path), ...checkFileSystem(folder)]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return [wrong(`there is no database at ${path}`, 'Run: grantor migrate')]
    return [unchecked(`${path} cannot be read (${code ?? 'unknown error'})`, 'Run this command as the user of grantor serve.')]
  }
}

/** The file contains wrapped keys, hashes of secrets and the wallets of all users. */
function checkPermissions(path: string, folder: string): CheckResult[] {
  const [ofFile, ofFolder] = [statSync(path).mode & 0o777, statSync(folder).mode & 0o7777]
  if ((ofFolder & 0o022) !== 0 && (ofFolder & 0o1000) === 0)
    return [wrong(`${folder} can be changed by other users (mode ${octal(ofFolder)})`, `Run: chmod 700 ${folder}`)]
  // In a closed folder, the mode of the file does not matter.
  if ((ofFile & 0o077) !== 0 && (ofFolder & 0o077) !== 0)
    return [wrong(`${path} can be read by other users (mode ${octal(ofFile)})`, `Run: chmod 700 ${folder}; chmod 600 ${path}*`)]
  return [ok(`${path} can be read by its owner only`)]
}

/** Bytes 18 and 19 of the file: 2 means a write-ahead log (https://www.sqlite.org/fileformat.html §1.3.3). */
function checkJournal(path: string): CheckResult[] {
  const bytes = Buffer.alloc(20)
  const descriptor = openSync(path, 'r')
  try {
    readSync(descriptor, bytes, 0, 20, 0)
  } finally {
    closeSync(descriptor)
  }
  if (!bytes.toString('latin1').startsWith('SQLite format 3'))
    return [wrong(`${path} is no SQLite database`, 'Check GRANTOR_DATABASE_URL.')]
  if (bytes[18] === 2 && bytes[19] === 2) return []
  return [
    warning(`${path} is not in WAL mode`, 'Start grantor serve, which sets it, and do not change the mode with another program.'),
  ]
}

function checkFileSystem(folder: string): CheckResult[] {
  const { type, bavail, bsize } = statfsSync(folder)
  const name = REMOTE.get(type >>> 0)
  const free = Math.floor((bavail * bsize) / MEGABYTE)
  const space = `${free} MB are free in ${folder}`
  return [
    ...(name ? [wrong(`${folder} is on a network file system (${name})`, 'Use a local disk, or PostgreSQL.')] : []),
    ...(type >>> 0 === FUSE
      ? [warning(`${folder} is on a FUSE file system`, 'Check that it locks files as a local disk does.')]
      : []),
    free < LEAST_MEGABYTES
      ? wrong(space, 'Free space, or move the database to a larger disk.')
      : free < FEW_MEGABYTES
        ? warning(space, 'Free space before the database and its write-ahead log need it.')
        : ok(space),
  ]
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
