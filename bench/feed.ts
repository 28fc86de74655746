/** `npm run bench -- feed [part …]`: the feed of endings. Each part is a file of `feed/`. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { measureChecks } from './feed/checks.ts'
import { measureDelays } from './feed/delays.ts'
import { measureReaders } from './feed/readers.ts'
import { layOut } from './package-home.ts'

const PARTS = ['checks', 'delays', 'readers'] as const

export async function measureFeed(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      entries: { type: 'string', default: '500000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      rate: { type: 'string', default: '1000' },
      readers: { type: 'string', default: '2000' },
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const unknown = positionals.find((each) => !PARTS.some((part) => part === each))
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}: ${PARTS.join(', ')}`)
  const folder = mkdtempSync(join(values.folder, 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const home = layOut(CHECKOUT, join(folder, 'grantor'))
  const { entries, rounds, seconds, rate, readers } = {
    entries: Number(values.entries),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    rate: Number(values.rate),
    readers: Number(values.readers),
  }
  const measure: Record<(typeof PARTS)[number], (place: { home: string; folder: string }) => Promise<void>> = {
    checks: (place) => measureChecks(place, { entries, rounds, seconds }),
    delays: (place) => measureDelays(place, { rate }),
    readers: (place) => measureReaders(place, { readers, rounds, seconds }),
  }
  for (const part of PARTS) {
    if (positionals.length > 0 && !positionals.includes(part)) continue
    const within = join(folder, part)
    mkdirSync(within)
    await measure[part]({ home, folder: within })
  }
}
