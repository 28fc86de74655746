/** Limits of this machine, as this command sees them. The service may have others, for example from its systemd unit. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { type CheckResult, ok, unchecked, warning } from './check.ts'

/** A worker needs about 100 MB, and SQLite's cache and a burst of requests need the rest. */
const LEAST_MEMORY = 400_000_000
/** Two for each connection through a proxy, and some for the database and files. */
const LEAST_DESCRIPTORS = 4096

export async function checkMachine(): Promise<CheckResult[]> {
  const limit = process.constrainedMemory()
  const memory = limit > 0 && limit < totalmem() ? limit : totalmem()
  const megabytes = Math.floor(memory / 1_000_000)
  return [
    memory < LEAST_MEMORY
      ? warning(`this command may use ${megabytes} MB of memory`, 'Give the service at least 400 MB.')
      : ok(`${megabytes} MB of memory`),
    checkDescriptors(),
  ]
}

function checkDescriptors(): CheckResult {
  try {
    const [, soft = '', hard = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    // Node raises the soft limit to the hard limit at its start.
    const most = hard === 'unlimited' || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Math.max(Number(soft), Number(hard))
    return most < LEAST_DESCRIPTORS
      ? warning(
          `a process may open ${most} files and connections`,
          `Set LimitNOFILE of the service to at least ${LEAST_DESCRIPTORS}.`,
        )
      : ok(`a process may open ${most === Number.POSITIVE_INFINITY ? 'any number of' : most} files and connections`)
  } catch {
    return unchecked(
      'the limit of open files cannot be read here',
      `Give the service at least ${LEAST_DESCRIPTORS} file descriptors.`,
    )
  }
}
