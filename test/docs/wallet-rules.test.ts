/** docs/evidence/wallet-rules.md promises only what a test shows. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/evidence/wallet-rules.md', root), 'utf8')

const rules = page
  .split(/^### /m)
  .slice(1)
  .map((section) => ({ number: Number.parseInt(section, 10), shownBy: [...section.matchAll(/^- `(.+?)`: (.+)$/gm)] }))
const shown = rules.flatMap(({ shownBy }) => shownBy).map(([, file = '', title = '']) => ({ file, title }))

test('docs/evidence/wallet-rules.md has each of the twenty-two promises once, and each is shown by a test', () => {
  expect(rules.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1))
  expect(rules.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

test('every line of its lists names a test', () => {
  expect(page.match(/^[-*] .*/gm)).toHaveLength(shown.length)
})

test('every test it names is there, under that very title', () => {
  expect(shown.filter(({ file, title }) => !titlesIn(file).has(title))).toEqual([])
})

test('a title that is there only as words, and not as a test, would be noticed', () => {
  expect(titlesIn('test/docs/wallet-rules.test.ts')).toContain('every line of its lists names a test')
  expect(titlesIn('test/docs/wallet-rules.test.ts')).not.toContain('docs/evidence/wallet-rules.md')
  expect(titlesIn('test/docs/no-such-file.test.ts')).toEqual(new Set())
})

/** What stands first in the brackets of `test(…)` and `test.each(…)(…)`, in whatever quotes. */
function titlesIn(file: string): Set<string> {
  const path = new URL(file, root)
  const source = /^test\/[a-z/-]+\.test\.ts$/.test(file) && existsSync(path) ? readFileSync(path, 'utf8') : ''
  const calls = source.matchAll(/(?:\btest\(|^[ \t\])}].*\)\(|\btest\.(?:each|for).*\)\()\s*(['"`])(.*?)(?<!\\)\1,/gm)
  return new Set([...calls].map(([, , title = '']) => title.replace(/\\(.)/g, '$1')))
}
