/** Every block of the guides and of the pages for operators is run by a test, or block-runs.ts has the reason why not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Block, blocksOf } from '../support/page-blocks.ts'
import { blockRuns } from './block-runs.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const PAGES = ['guides', 'operating'].flatMap((folder) =>
  readdirSync(join(ROOT, 'docs', folder)).map((name) => `${folder}/${name}`),
)

const isNamed = (name: string, { language, mark, text }: Block) =>
  mark === '' ? text.includes(name) : name === `${language} ${mark}`
const firstLine = ({ text }: Block) => text.trim().split('\n')[0]

/** One line for each block that no row names, and for each row that does not name exactly one block. */
function faultsOf(page: string, blocks: readonly Block[], rows = blockRuns[page]): string[] {
  if (rows === undefined) return blocks.map((block) => `${page}: no row for the block: ${firstLine(block)}`)
  if ('whole' in rows) return []
  const names = Object.keys(rows)
  const unnamed = blocks.filter((block) => !names.some((name) => isNamed(name, block)))
  const wrong = names.filter((name) => blocks.filter((block) => isNamed(name, block)).length !== 1)
  return [
    ...unnamed.map((block) => `${page}: no row for the block: ${firstLine(block)}`),
    ...wrong.map((name) => `${page}: the row ${name} does not name one block`),
  ]
}

test('Each block of docs/guides and docs/operating is run by a test, or has a reason why it is not run', () => {
  expect(PAGES.length).toBeGreaterThan(20)
  expect(PAGES.flatMap((page) => faultsOf(page, blocksOf(page)))).toEqual([])
  expect(Object.keys(blockRuns).filter((page) => !PAGES.includes(page))).toEqual([])
})

test('Each file that block-runs.ts names for a page exists, and names the page or the block', () => {
  const rows = Object.entries(blockRuns).flatMap(([page, runs]) =>
    Object.entries(runs).flatMap(([name, how]) => ('by' in how ? [{ page, name, by: how.by }] : [])),
  )
  expect(rows.length).toBeGreaterThan(80)
  const isUnproved = ({ page, name, by }: (typeof rows)[number]) => {
    const path = join(ROOT, by)
    const source = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const mark = name.split(' ')[1] ?? name
    return !source.includes(page) && !source.includes(`'${mark}'`) && !source.includes(page.replace(/^\w+\//, ''))
  }
  expect(rows.filter(isUnproved)).toEqual([])
})
