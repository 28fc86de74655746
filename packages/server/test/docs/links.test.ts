/** Links between the documents of this repository. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { completePage, markedPage, PAGE_NAMES } from '../../../../scripts/docs/generated-pages.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const PAGES = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean)

/** It is beside its page on the site and in the package. */
const GENERATED_FILE = 'docs/reference/admin-openapi.json'

/** The text of each page, with the generated pages in place of their short pages. */
const TEXTS = new Map<string, string>()
beforeAll(async () => {
  for (const page of PAGES.filter((each) => existsSync(join(ROOT, each))))
    TEXTS.set(join(ROOT, page), await completePage(readFileSync(join(ROOT, page), 'utf8')))
})

/** The ids that code hosts give to the headings of a page. */
function headingsOf(page: string): Set<string> {
  const headings = (TEXTS.get(page) ?? readFileSync(page, 'utf8')).matchAll(/^#{1,6} +(.+)$/gm)
  const ids = [...headings].map(([, title = '']) =>
    title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(ids)
}

function brokenLinksOf(page: string): string[] {
  const links = (TEXTS.get(join(ROOT, page)) ?? '').matchAll(/\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?\)/g)
  return [...links]
    .filter(([, path = '', heading]) => {
      const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path)
      if (!existsSync(target)) return relative(ROOT, target) !== GENERATED_FILE
      if (heading === undefined || (!target.endsWith('.md') && /^L\d+$/.test(heading))) return false
      return !(target.endsWith('.md') && headingsOf(target).has(heading))
    })
    .map(([link]) => `${relative(ROOT, join(ROOT, page))} ${link}`)
}

test('Until the first release, each page that installs a package of Grantor says under its title that no registry has it', () => {
  const installing = PAGES.filter((page) => /^docs\/(?:guides|operating)\//.test(page))
    .map((page) => [page, readFileSync(join(ROOT, page), 'utf8')] as const)
    .filter(([, text]) => /\bnpm (?:install|create)\b[^\n`]* (?:@grantor\/|grantor(?:-app)?\b)/.test(text))
  expect(installing.length).toBeGreaterThan(4)
  const silent = installing.filter(([, text]) => !text.split('\n', 3).join().includes('#packages-from-a-checkout'))
  expect(silent.map(([page]) => page)).toEqual([])
})

test('Every relative link in a document leads to an existing file, and to an existing heading of this file', () => {
  expect(PAGES.length).toBeGreaterThan(40)
  expect(PAGES.filter((page) => existsSync(join(ROOT, page))).flatMap(brokenLinksOf)).toEqual([])
})

test('Each short page has the title of its generated page, and links to it find the same page on a code host', () => {
  const short = PAGES.filter((page) => markedPage(readFileSync(join(ROOT, page), 'utf8')) !== undefined)
  expect(short.length).toBe(PAGE_NAMES.filter((name) => !name.includes('.')).length)
  for (const page of short) {
    const [title] = readFileSync(join(ROOT, page), 'utf8').split('\n', 1)
    expect(TEXTS.get(join(ROOT, page))?.split('\n', 1)).toEqual([title])
  }
})

test('Every picture in docs/screenshots is shown in a document', () => {
  const documents = PAGES.filter((page) => existsSync(join(ROOT, page))).map((page) => readFileSync(join(ROOT, page), 'utf8'))
  const pictures = readdirSync(join(ROOT, 'docs/screenshots'))
  expect(pictures.length).toBeGreaterThan(10)
  expect(pictures.filter((name) => !documents.some((text) => text.includes(`screenshots/${name}`)))).toEqual([])
})
