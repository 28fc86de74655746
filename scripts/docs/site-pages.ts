/** Writes the pages of the documents' site: those of `docs` and some of the root, with the generated pages, and with links that lead somewhere on the site. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { completePage, generatePage } from './generated-pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = join(ROOT, 'docs/site/.pages')

/** Pages of the root, each with its place on the site. */
const OF_ROOT: Readonly<Record<string, string>> = {
  'README.md': 'start.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing/index.md',
  'SECURITY.md': 'security.md',
}
/** The folder of the API pages, which TypeDoc writes. */
const API = 'docs/reference/api.md'

export async function writeSitePages(): Promise<void> {
  rmSync(PAGES, { recursive: true, force: true })
  for (const file of listFiles()) await writeSitePage(file)
  write('public/reference/admin-openapi.json', await generatePage('openapi.json'))
}

/** Writes one file, named from the root of the repository. */
export async function writeSitePage(file: string): Promise<void> {
  const place = placeOf(file)
  if (place === undefined) return
  if (file.endsWith('.md')) {
    const text = await completePage(readFileSync(join(ROOT, file), 'utf8'))
    return write(place, sitePage(file, text, process.env.DOCS_SOURCE))
  }
  // A picture is part of a page. Any other file is served as it is.
  const target = join(PAGES, /\.(png|svg)$/.test(place) ? place : `public/${place}`)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(ROOT, file), target)
}

function listFiles(): string[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'docs', ...Object.keys(OF_ROOT)],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  )
  return listed.split('\0').filter(Boolean)
}

/** The place of a file on the site; undefined if the site does not have it. */
function placeOf(file: string): string | undefined {
  if (file === API) return 'reference/api/index.md'
  if (OF_ROOT[file] !== undefined) return OF_ROOT[file]
  if (!file.startsWith('docs/') || file.startsWith('docs/site/')) return undefined
  return file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md')
}

/**
 * The text with links for the site. A link to a file that the site does not have leads to `source`, the address of the tree at a code host; without
 * `source`, its scheme is `source:`, and the site shows it as text.
 */
function sitePage(file: string, text: string, source = 'source:'): string {
  const from = dirname(placeOf(file) ?? file)
  return text.replaceAll(/\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (_, path: string, heading = '') => {
    const target = posix.join(posix.dirname(file), path).replace(/\/$/, '')
    const place = placeOf(target)
    return `](${place === undefined ? `${source.replace(/\/$/, '')}/${target}` : posix.relative(from, place)}${heading})`
  })
}

function write(place: string, text: string): void {
  const target = join(PAGES, place)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}
