import { readFileSync, statSync } from 'node:fs'
import { UsageError } from '../command.ts'
import { FILE_AT_MOST } from './read-configuration.ts'

/** The text of a file of a configuration. Throws a `UsageError` for a file that cannot be read or is too large. */
export function readFileText(file: string): string {
  try {
    // One character of UTF-8 has at most four bytes.
    if (statSync(file).size <= FILE_AT_MOST * 4) return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${JSON.stringify(file)} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`)
  }
  throw new UsageError(`${JSON.stringify(file)} is too large`)
}
