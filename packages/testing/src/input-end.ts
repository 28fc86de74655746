import { fstatSync } from 'node:fs'

/**
 * Resolves when standard input ends, if that is a pipe or a socket: the other end belongs to the program that started this process, and the
 * operating system closes it even if that program is killed. A terminal, a file or `/dev/null`, which containers and background jobs get,
 * never ends in this sense. The content is discarded. Standard input keeps no process alive.
 */
export function inputEnd(): Promise<void> {
  const kind = fstatSync(0)
  if (!kind.isFIFO() && !kind.isSocket()) return new Promise(() => undefined)
  const { stdin } = process
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) stdin.once(event, () => resolve())
    stdin.resume()
    stdin.unref()
  })
}
