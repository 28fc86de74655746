/** docs/evidence/wallet-rules.md contains only promises that a test shows. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../../../', import.meta.url)
const page = readFileSync(new URL('docs/evidence/wallet-rules.md', root), 'utf8')

const rules = page
  .split(/^### /m)
  .slice(1)
  .map((section) => ({ number: Number.parseInt(section, 10), shownBy: [...section.matchAll(/^- `(.+?)`: (.+)$/gm)] }))
const shown = rules.flatMap(({ shownBy }) => shownBy).map(([, file = '', title = '']) => ({ file, title }))

test('The page docs/evidence/wallet-rules.md has each of its 22 promises once, each with a test', () => {
  expect(rules.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1))
  expect(rules.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

test('Every list item of docs/evidence/wallet-rules.md names a test', () => {
  expect(page.match(/^[-*] .*/gm)).toHaveLength(shown.length)
})

test('Every test that docs/evidence/wallet-rules.md names exists under this title', () => {
  expect(shown.filter(({ file, title }) => !titlesIn(file).has(title))).toEqual([])
})

test('Text of a test file that is not the title of a test is not found as a title', () => {
  expect(titlesIn('packages/server/test/docs/wallet-rules.test.ts')).toContain(
    'Every list item of docs/evidence/wallet-rules.md names a test',
  )
  expect(titlesIn('packages/server/test/docs/wallet-rules.test.ts')).not.toContain('docs/evidence/wallet-rules.md')
  expect(titlesIn('test/docs/no-such-file.test.ts')).toEqual(new Set())
})

/** The first argument of `test(…)` and `test.each(…)(…)`, in any kind of quotes. */
function titlesIn(file: string): Set<string> {
  const path = new URL(file, root)
  const source =
    /^packages\/[a-z-]+\/test\/[a-z0-9/-]+(\.[a-z]+)?\.test\.ts$/.test(file) && existsSync(path) ? readFileSync(path, 'utf8') : ''
  const calls = source.matchAll(/(?:\btest\(|^[ \t\])}].*\)\(|\btest\.(?:each|for).*\)\()\s*(['"`])(.*?)(?<!\\)\1,/gm)
  return new Set([...calls].map(([, , title = '']) => title.replace(/\\(.)/g, '$1')))
}
