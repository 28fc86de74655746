/**
 * Where finished log lines leave the process. Lines that may wait are written together, a hundred times a second at
 * most: a write of its own for each costs three times the rest of the line.
 */
const WAIT_MS = 10

/**
 * Characters that are written together. Into a pipe the system writes so many in one piece (PIPE_BUF), so that lines of
 * workers that share one output do not mix; what is appended to a file stays in one piece whatever its size.
 */
export const IN_ONE_WRITE = { pipe: 4096, file: 16_384 } as const

export type LogLines = {
  /** Writes now, and before it what still waits, so that lines stay in order. */
  write(line: string): void
  /** Writes with the next line that may not wait, within ten milliseconds, or when the process exits. */
  writeSoon(line: string): void
}

/** A process that is killed loses the lines that wait, and none that had to be written now. */
export function logLines(target: { write(lines: string): unknown }, atMost: number = IN_ONE_WRITE.pipe): LogLines {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    const lines = waiting
    waiting = ''
    clearTimeout(timer)
    if (lines !== '') target.write(lines)
  }
  // Before the destination's own listener, which closes it.
  process.prependListener('exit', flush)
  return {
    write(line) {
      if (waiting.length + line.length > atMost) flush()
      waiting += line
      flush()
    },
    writeSoon(line) {
      if (waiting.length + line.length > atMost) flush()
      if (waiting === '') timer = setTimeout(flush, WAIT_MS)
      waiting += line
    },
  }
}

/** Each line at once, for a destination that is not the process's own output. */
export function promptLines(target: { write(line: string): unknown }): LogLines {
  const write = (line: string): void => void target.write(line)
  return { write, writeSoon: write }
}
