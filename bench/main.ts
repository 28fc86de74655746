/** `npm run bench`: see options.ts for what it does, README.md for how. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { atExit } from './at-exit.ts'
import { measureAudit } from './audit.ts'
import { CHECKOUT } from './built.ts'
import { checksOf } from './checks.ts'
import { measureFeed } from './feed.ts'
import { type Figures, figuresOf, keep, kept } from './figures.ts'
import { tell } from './measure.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { layOut } from './package-home.ts'
import { loadOf, runPart } from './parts.ts'
import { rewrite } from './performance-page.ts'
import { measureSoak } from './soak.ts'
import { checksTable, measuredTable, serversText } from './tables.ts'

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  if (args[0] === 'audit') return measureAudit(args.slice(1))
  if (args[0] === 'feed') return measureFeed(args.slice(1))
  if (args[0] === 'soak') return measureSoak(args.slice(1))
  const options = parseOptions(args)
  if (options === 'help') {
    console.log(HELP)
    return
  }
  if (options.build) build()
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'grantor-bench-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const homes = {
    own: layOut(CHECKOUT, join(folder, 'grantor')),
    baseline: options.baseline === null ? null : layOut(resolve(options.baseline), join(folder, 'before')),
  }
  const measured: Figures[] = []
  for (const part of options.parts) {
    const figures = figuresOf(await runPart(part, options, homes, folder), loadOf(part, options))
    measured.push(figures)
    if (options.writeDocs) keep(figures)
  }
  print(measured, options)
  if (options.writeDocs) rewrite(kept())
}

function build(): void {
  tell('building (npm run build)')
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: CHECKOUT, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('npm run build failed')
}

function print(measured: Figures[], { json }: Options): void {
  if (json) {
    console.log(JSON.stringify(measured, null, 2))
    return
  }
  console.log(`\n${checksTable(measured.flatMap(checksOf))}`)
  for (const part of measured) console.log(`\n## ${part.part}\n\n${measuredTable(part)}\n\n${serversText(part)}`)
}

main().catch((error: unknown) => {
  tell(`bench: ${error instanceof Error ? error.message : String(error)}`)
  // The servers that were started end with this process.
  process.exit(1)
})
