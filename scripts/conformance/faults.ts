/** Finds rows whose file, comment or test is missing: nothing would check such a row. */
import { existsSync, readFileSync } from 'node:fs'
import { citationsIn } from './citations.ts'
import type { Held, Requirement, Shown, Standard } from './requirement.ts'
import { hasPassed, type Report, titlesIn } from './titles.ts'

const root = new URL('../../', import.meta.url)

/** One line per fault. With the report of a test run, a test that did not pass is a fault, too. */
export function faultsOf(standards: readonly Standard[], report?: Report): string[] {
  return standards.flatMap((standard) =>
    standard.requirements.flatMap((row) => {
      const where = `${standard.name} §${row.section} (${row.words})`
      const missing = row.outcome.kind === 'held' ? heldFaults(standard, row, row.outcome) : []
      return [...missing, ...shownFaults(row.outcome.shown, report)].map((fault) => `${where}: ${fault}`)
    }),
  )
}

function heldFaults({ name }: Standard, { section }: Requirement, { file }: Held): string[] {
  const path = new URL(file, root)
  if (!/^(packages\/[a-z-]+\/(src|demo)|docs|examples)\//.test(file) || !existsSync(path)) return [`there is no file ${file}`]
  const cited = citationsIn(readFileSync(path, 'utf8'), file.endsWith('.md') ? 'prose' : 'code')
  return cited.has(`${name} §${section}`) ? [] : [`no comment of ${file} names this section`]
}

function shownFaults({ file, title }: Shown, report: Report | undefined): string[] {
  // If a file has two tests of one title, the row does not say which of them it means.
  const found = titlesIn(file).filter((each) => each === title).length
  if (found !== 1) return [`${file} has ${found} tests "${title}"`]
  return report && !hasPassed(report, file, title) ? [`"${title}" of ${file} did not pass`] : []
}
