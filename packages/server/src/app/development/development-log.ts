/** The log under `grantor start`: the same lines after the same redaction, shortened for a reader. */

type LogLine = Record<string, unknown> & { level?: string; time?: string; msg?: string; server?: string }

// Members that the other columns show, or that a developer does not need.
const LEFT_OUT = new Set([
  'level',
  'time',
  'msg',
  'server',
  'log',
  'reqId',
  'request_id',
  'method',
  'route',
  'status',
  'ms',
  'event',
  'err',
])

/** A destination for the logger that writes to `print`. */
export function developmentLog(print: (line: string) => void): { write(line: string): void } {
  return {
    write(line) {
      try {
        const parsed = JSON.parse(line) as LogLine
        // The addresses are printed once, when everything is ready. The keys of a new store are not shown.
        if (!parsed.msg?.startsWith('Server listening at') && parsed.event !== 'key_made') print(sentence(parsed))
      } catch {
        print(line.trimEnd())
      }
    },
  }
}

function sentence(line: LogLine): string {
  const clock = /T(\d\d:\d\d:\d\d)/.exec(line.time ?? '')?.[1] ?? ''
  const loudness = ['warn', 'error', 'fatal'].includes(line.level ?? '') ? [String(line.level).toUpperCase()] : []
  const what =
    line.route === undefined
      ? [line.event ?? line.msg]
      : [line.method, line.route, line.status, `${Math.round(Number(line.ms))} ms`]
  const facts = Object.entries(line)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== null && typeof value !== 'object')
    .map(([name, value]) => `${name}=${String(value)}`)
  const error = line.err as { stack?: string; message?: string } | undefined
  const trouble = error ? [`\n${error.stack ?? error.message}`] : []
  return ['  ', clock, (line.server ?? '').padEnd(5), ...loudness, ...what, ...facts, ...trouble].join(' ')
}
