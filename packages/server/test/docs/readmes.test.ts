import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../../..')
const foldersOf = (pattern: string) => [...new Set(globSync(pattern, { cwd: ROOT }).map((file) => dirname(file)))].toSorted()
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

test('Every folder with code in src, bench and scripts has a README.md', () => {
  const folders = foldersOf('{packages/*/src,bench,scripts}/**/*.{ts,js}')
  expect(folders.length).toBeGreaterThan(50)
  expect(folders.filter((folder) => !existsSync(join(ROOT, folder, 'README.md')))).toEqual([])
})

test.each([
  'packages/server/src/domain',
  'packages/server/src/store',
  'packages/server/src/pages',
  'packages/server/src/http',
  'packages/server/src/observability',
  'packages/server/src/operators',
  'packages/server/src/operators/terminal',
  'packages/server/src/outbound',
  'packages/server/src/protocol',
  'packages/server/src/app',
])('%s/README.md names each of its folders', (folder) => {
  const page = read(`${folder}/README.md`)
  const names = globSync(`${folder}/*/`, { cwd: ROOT }).map((path) => path.split('/').at(-1))
  expect(names.length).toBeGreaterThan(1)
  expect(names.filter((name) => !page.includes(`[${name}](${name})`))).toEqual([])
})

test('Each name of code in a README.md of src and in CONTRIBUTING.md is a name in the repository', () => {
  const code = globSync(['{packages/*/{src,test,locales},scripts}/**/*.{ts,js,css,json}', 'vitest.config.ts'], { cwd: ROOT })
    .map(read)
    .join('\n')
  const words = new Set(code.match(/[A-Za-z_$][\w$]*/g))
  const pages = [...globSync('packages/*/src/**/README.md', { cwd: ROOT }), 'CONTRIBUTING.md']
  const unknown = pages.flatMap((page) =>
    [...read(page).matchAll(/`([A-Za-z]*[a-z][A-Za-z]*)`/g)].flatMap(([, name = '']) =>
      words.has(name) ? [] : [`${page}: ${name}`],
    ),
  )
  expect(unknown).toEqual([])
})
