/** docs/evidence/wallet-rules.md contains only promises that a test shows. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { titlesIn } from '../../../../scripts/conformance/titles.ts'

const root = new URL('../../../../', import.meta.url)
const page = readFileSync(new URL('docs/evidence/wallet-rules.md', root), 'utf8')

const rules = page
  .split(/^### /m)
  .slice(1)
  .map((section) => ({ number: Number.parseInt(section, 10), shownBy: [...section.matchAll(/^- `(.+?)`: (.+)$/gm)] }))
const shown = rules.flatMap(({ shownBy }) => shownBy).map(([, file = '', title = '']) => ({ file, title }))

test('The page docs/evidence/wallet-rules.md has each of its 23 promises once, each with a test', () => {
  expect(rules.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 23 }, (_, i) => i + 1))
  expect(rules.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

test('Every list item of docs/evidence/wallet-rules.md names a test', () => {
  expect(page.match(/^[-*] .*/gm)).toHaveLength(shown.length)
})

test('Every test that docs/evidence/wallet-rules.md names exists under this title', () => {
  expect(shown.filter(({ file, title }) => !titlesIn(file).includes(title))).toEqual([])
})
