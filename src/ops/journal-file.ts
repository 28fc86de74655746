/**
 * A file that lines are put after one another, by any number of processes on one machine: each writes whole lines in one
 * piece at the file's end. Lines wait a moment for others, so that a busy service does not write for each; what a killed
 * process still held is lost, and whoever reads the file finds that its last line is missing.
 */
import { closeSync, openSync, writeSync } from 'node:fs'

export type JournalFile = {
  append(line: string): void
  /** writes what waits; nothing is taken after it */
  close(): void
}

const WAITS_MS = 100
/** The system writes so much in one piece, with nobody else's lines in between. */
const PIECE = 64 * 1024

/** Opens a file, or makes it readable by its owner alone. Throws where that cannot be done; `failed` is told of what was lost later. */
export function openJournalFile(path: string, failed: (error: unknown) => void): JournalFile {
  const file = openSync(path, 'a', 0o600)
  let waiting = ''
  let timer: NodeJS.Timeout | null = null
  let over = false

  function write(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const text = waiting
    waiting = ''
    if (text === '') return
    try {
      const bytes = Buffer.from(text)
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
    } catch (error) {
      failed(error)
    }
  }

  return {
    append(line) {
      if (over) return
      waiting += `${line}\n`
      if (waiting.length >= PIECE) write()
      else timer ??= setTimeout(write, WAITS_MS)
    },
    close() {
      if (over) return
      write()
      over = true
      closeSync(file)
    },
  }
}
