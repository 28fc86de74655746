/** A new file that only its owner can read. */
import { openSync } from 'node:fs'
import { UsageError } from '../command.ts'

/** Creates the file, and never overwrites one. `option` is for the message. Returns the descriptor. */
export function openNewPrivateFile(file: string, option: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'exists already, and is not overwritten' : `cannot be created (${code ?? 'unknown error'})`
    throw new UsageError(`${option}: ${JSON.stringify(file)} ${why}; nothing was changed`)
  }
}
