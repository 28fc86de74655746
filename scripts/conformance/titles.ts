/** Reads the titles of a test file, and whether the tests of a title passed in a run. */
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

/** A table names a test by its title, or by `group › title` if the file has several tests of that title. */
const UNDER = ' › '

/** Each test of a file by its title, and again under each of its groups. */
export function titlesIn(file: string): string[] {
  const path = new URL(file, root)
  if (!/^packages\/[a-z-]+\/test\/[a-z0-9/-]+(\.[a-z]+)?\.test\.ts$/.test(file) || !existsSync(path)) return []
  const source = readFileSync(path, 'utf8')
  const groups = groupsIn(source)
  return testsIn(source).flatMap(({ title, at }) => {
    const around = groups.filter(({ from, to }) => from < at && at < to)
    return [title, ...around.map(({ name }) => name + UNDER + title)]
  })
}

/** A group ends at the closing bracket with the same indentation. */
function groupsIn(source: string): { name: string; from: number; to: number }[] {
  return [...source.matchAll(/^( *)describe\(\s*(['"`])(.*?)(?<!\\)\2,/gm)].map((call) => {
    const [, indent = '', , name = ''] = call
    return { name: plain(name), from: call.index, to: source.indexOf(`\n${indent}})`, call.index) }
  })
}

/** The first argument of `test(…)`, `checkLooks(…)`, `test.each(…)(…)` and `test.for(…)(…)`, in any kind of quotes. */
function testsIn(source: string): { title: string; at: number }[] {
  const calls = source.matchAll(
    /(?:\b(?:test|checkLooks)\(|^[ \t\])}].*\)\(|\btest\.(?:each|for).*\)\()\s*(['"`])(.*?)(?<!\\)\1,/gm,
  )
  return [...calls].map((call) => ({ title: plain(call[2] ?? ''), at: call.index }))
}

function plain(quoted: string): string {
  return quoted.replace(/\\(.)/g, '$1')
}

/** The part of Vitest's JSON report that is used here. */
export type Report = { testResults: { name: string; assertionResults: Told[] }[] }
type Told = { ancestorTitles: string[]; title: string; status: string }

/** Whether every test of this title ran and passed. The title of a `test.each` or `test.for` matches each of its rows. */
export function hasPassed(report: Report, file: string, named: string): boolean {
  const [title = '', ...groups] = named.split(UNDER).toReversed()
  const pattern = new RegExp(
    `^${title
      .split(/%(?:\.\d+)?[sijdfoOc#%]|\$\w+/)
      .map(escapePattern)
      .join('[^]*')}$`,
  )
  const told = report.testResults
    .filter(({ name }) => name.endsWith(`/${file}`))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((each) => pattern.test(each.title) && groups.every((group) => each.ancestorTitles.includes(group)))
  return told.length > 0 && told.every(({ status }) => status === 'passed')
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
