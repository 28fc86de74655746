/** The pages of the packages state the size and the number of dependencies of each package. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { describe, expect, test } from 'vitest'
import { type PackageName, type PackageParts, packages } from '../../scripts/packages.ts'

const ROOT = join(import.meta.dirname, '../..')
/** A page states the size with one digit after the point, and stays true while the size changes by less than this part. */
const TOLERANCE = 0.1

/** kB of one entry point with the files of ours that it imports, minified and compressed. */
async function sizeOf(entry: string): Promise<number> {
  const build = await rolldown({
    input: join(ROOT, `${entry}.ts`),
    external: (name) => !name.startsWith('.') && !name.startsWith('/'),
    logLevel: 'silent',
  })
  const { output } = await build.generate({ format: 'es', minify: true, codeSplitting: false })
  await build.close()
  return gzipSync(output[0].code).length / 1000
}

const LIBRARIES = (Object.keys(packages) as PackageName[]).filter((name) => name !== 'create-grantor-app')

test('The page of create-grantor-app states the size of its files, within a tenth, and the number of dependencies', () => {
  const { dependencies, guide } = packages['create-grantor-app']
  const page = readFileSync(join(ROOT, guide), 'utf8')
  const files = globSync('create-app/{*.{ts,js},templates/**/*}', { cwd: ROOT, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const text = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('\n')
  const stated = Number(/has ([\d.]+) kB compressed/.exec(page)?.[1])
  const size = gzipSync(text).length / 1000
  expect(Math.abs(stated - size) / size, `${size.toFixed(1)} kB`).toBeLessThan(TOLERANCE)
  expect(/The package has (\d+) dependenc/.exec(page)?.[1]).toBe(String(dependencies.length))
})

describe.for(LIBRARIES)('%s', (name) => {
  const { entries, dependencies, guide }: PackageParts = packages[name]
  const page = readFileSync(join(ROOT, guide), 'utf8')

  test(`The page of ${name} states the size of each entry point, within a tenth`, async () => {
    const rows = [...page.matchAll(/^\| `([^`]+)` \|.* ([\d.]+) kB \|$/gm)]
    const stated = Object.fromEntries(rows.map(([, entry = '', size]) => [entry.replace(name, '.'), Number(size)]))
    expect(Object.keys(stated).toSorted()).toEqual(Object.keys(entries).toSorted())
    const real = await Promise.all(Object.entries(entries).map(async ([entry, path]) => [entry, await sizeOf(path)] as const))
    const wrong = real.flatMap(([entry, size]) =>
      Math.abs((stated[entry] ?? 0) - size) > Math.max(size * TOLERANCE, 0.05) ? [`${entry}: ${size.toFixed(1)} kB`] : [],
    )
    expect(wrong).toEqual([])
  })

  test(`The page of ${name} states the number of dependencies`, () => {
    expect(/The package has (\d+) dependenc/.exec(page)?.[1]).toBe(String(dependencies.length))
  })
})
