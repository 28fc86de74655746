/** Creates files that only their owner can read. If one of the files exists, no file is written. */
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../../operators/terminal/command.ts'

export function createFiles(folder: string, files: Readonly<Record<string, string>>): void {
  const created: string[] = []
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      // `wx` fails if the path exists, even as a symbolic link.
      const descriptor = openSync(path, 'wx', 0o600)
      created.push(path)
      try {
        writeSync(descriptor, text)
        fsyncSync(descriptor)
      } finally {
        closeSync(descriptor)
      }
    }
  } catch (error) {
    for (const path of created) rmSync(path, { force: true })
    const { code, path } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && path !== undefined)
      throw new CommandError(`${path} exists already, and is not overwritten; nothing was written`)
    throw new CommandError(`${path ?? folder} cannot be written (${code ?? 'unknown error'}); nothing was written`)
  }
}
