/** The pages of the packages state the size and the number of dependencies of each package. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../../..')
/** A page states the size with one digit after the point, and stays true while the size changes by less than this part. */
const TOLERANCE = 0.1

type Manifest = {
  exports: Record<string, { 'grantor-source': string } | string>
  dependencies?: Record<string, string>
}

/** From each package to the page that describes it. */
const PAGES = {
  resource: 'docs/guides/protect-an-api.md',
  connect: 'docs/guides/connect-package.md',
  'create-grantor-app': 'docs/guides/create-app.md',
} as const

/** kB of one entry point with the files of ours that it imports, minified and compressed. */
async function sizeOf(entry: string): Promise<number> {
  const build = await rolldown({
    input: entry,
    resolve: { conditionNames: ['grantor-source', 'import'] },
    external: (name) => !name.startsWith('.') && !name.startsWith('/') && !name.startsWith('@grantor/'),
    logLevel: 'silent',
  })
  const { output } = await build.generate({ format: 'es', minify: true, codeSplitting: false })
  await build.close()
  return gzipSync(output[0].code).length / 1000
}

function readPackage(name: keyof typeof PAGES) {
  const folder = join(ROOT, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return { folder, ...manifest, page: readFileSync(join(ROOT, PAGES[name]), 'utf8') }
}

test.each(Object.keys(PAGES) as (keyof typeof PAGES)[])(
  'The page of the package %s states the number of dependencies',
  (name) => {
    const { dependencies = {}, page } = readPackage(name)
    expect(/The package has (\d+) dependenc/.exec(page)?.[1]).toBe(String(Object.keys(dependencies).length))
  },
)

test('The page of create-grantor-app states the size of its files, within a tenth', () => {
  const { folder, page } = readPackage('create-grantor-app')
  const files = globSync('{*.js,src/*.ts,templates/**/*}', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
  const text = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('\n')
  const stated = Number(/has ([\d.]+) kB compressed/.exec(page)?.[1])
  const size = gzipSync(text).length / 1000
  expect(Math.abs(stated - size) / size, `${size.toFixed(1)} kB`).toBeLessThan(TOLERANCE)
})

test.each(['resource', 'connect'] as const)(
  'The page of @grantor/%s states the size of each entry point, within a tenth',
  async (name) => {
    const { folder, exports, page } = readPackage(name)
    const rows = [...page.matchAll(/^\| `([^`]+)` \|.* ([\d.]+) kB \|$/gm)]
    const stated = Object.fromEntries(rows.map(([, entry = '', size]) => [entry.replace(`@grantor/${name}`, '.'), Number(size)]))
    const entries = Object.entries(exports).flatMap(([entry, paths]) =>
      typeof paths === 'string' ? [] : [[entry, join(folder, paths['grantor-source'])] as const],
    )
    expect(Object.keys(stated).toSorted()).toEqual(entries.map(([entry]) => entry).toSorted())
    const real = await Promise.all(entries.map(async ([entry, path]) => [entry, await sizeOf(path)] as const))
    const wrong = real.flatMap(([entry, size]) =>
      Math.abs((stated[entry] ?? 0) - size) > Math.max(size * TOLERANCE, 0.05) ? [`${entry}: ${size.toFixed(1)} kB`] : [],
    )
    expect(wrong).toEqual([])
  },
)
