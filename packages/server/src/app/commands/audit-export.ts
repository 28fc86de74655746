import { setTimeout as pauseFor } from 'node:timers/promises'
import { exportedLine, linePages } from '../../domain/audit/export.ts'
import { defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'

/** Milliseconds between two reads with `--follow`. */
const FOLLOW_EVERY = 1000

export const auditExport = defineCommand({
  name: 'audit export',
  words: 'Prints the audit trail, the oldest line first, as one JSON object per line (NDJSON).',
  about:
    'Each line has its number (seq) and its hash. The number of the last line that you have is the cursor of the next export: --after. The text of a line never changes, so parts of an export can be put together, and checked: grantor audit verify --file.',
  options: {
    after: { value: 'LINE', words: 'Only lines after the line with this number: 0 unless given.' },
    follow: { words: 'Then waits for new lines, and prints each, until it is interrupted.' },
    data: dataOption,
  },
  examples: ['grantor audit export > audit.ndjson', 'grantor audit export --after 1204 --follow >> audit.ndjson'],
  program: 'grants',
  async run({ options }, environment) {
    let last = lineNumber(options.after ?? '0')
    const isRead = (): boolean => environment.isRead?.() !== false
    await withStore(settingsFor('grants', environment, options.data), environment, async ({ audit }) => {
      do {
        for await (const page of linePages(audit, last)) {
          for (const line of page) environment.print(exportedLine(line))
          last = page.at(-1)?.seq ?? last
          if (!isRead()) return
        }
        if (options.follow) await pauseFor(FOLLOW_EVERY)
      } while (options.follow && isRead())
    })
    return EXIT.done
  },
})

function lineNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`--after must be the number of a line, not "${text}"`)
}
