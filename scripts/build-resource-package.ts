/**
 * Builds the package `@grantor/resource` in `build/resource-package`, from the same tree as `grantor`: the files that `src/resource` needs
 * and no others, with `jose` as the only dependency.
 *
 * `npm run build:resource -- --output FOLDER`, then `npm pack FOLDER`.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'

type Manifest = {
  version: string
  license: string
  exports: Record<string, string | { types: string; default: string }>
  dependencies: Record<string, string>
}

const checkout = join(import.meta.dirname, '..')
const dist = join(checkout, 'dist')
const { values } = parseArgs({ options: { output: { type: 'string', default: join(checkout, 'build/resource-package') } } })
const output = resolve(values.output)
const grantor = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as Manifest

/** A statement at the beginning of a line, so that examples in comments do not count, or a type that is named in place. */
const IMPORTS = /^(?:import|export)\s[\w\s{},*$]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm

const entries = entryPoints(grantor.exports)
const packages = new Set<string>()
rmSync(output, { recursive: true, force: true })
for (const file of reachableFiles(Object.values(entries).flatMap(({ types, default: code }) => [types, code]))) {
  const to = join(output, relative(dist, file))
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(file, to)
}
writeFileSync(join(output, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
copyFileSync(join(checkout, 'LICENSE'), join(output, 'LICENSE'))
copyFileSync(join(checkout, 'docs/guides/resource-package.md'), join(output, 'README.md'))

/** `.` for `grantor/resource`, `./express` for `grantor/resource/express`. The paths are relative to the new package. */
function entryPoints(exports: Manifest['exports']): Record<string, { types: string; default: string }> {
  const found = Object.entries(exports).flatMap(([name, target]) => {
    if (typeof target === 'string' || !name.startsWith('./resource')) return []
    const inPackage = (path: string): string => path.replace('./dist/', './')
    const entry = { types: inPackage(target.types), default: inPackage(target.default) }
    return [[name.replace('./resource', '.'), entry] as const]
  })
  return Object.fromEntries(found)
}

/** The built files that these files import, directly or not. Collects the names of the packages in `packages`. */
function reachableFiles(from: readonly string[]): Set<string> {
  const files = new Set<string>()
  const waiting = from.map((path) => join(dist, path))
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    for (const [, named, inPlace] of readFileSync(file, 'utf8').matchAll(IMPORTS)) {
      const specifier = named ?? inPlace ?? ''
      if (specifier.startsWith('.')) waiting.push(builtFile(resolve(dirname(file), specifier), file))
      else if (!specifier.startsWith('node:')) packages.add(specifier)
    }
  }
  return files
}

/** A declaration file imports `./x.js` or `./x.ts`, and means `./x.d.ts`. */
function builtFile(imported: string, importer: string): string {
  const file = importer.endsWith('.d.ts') ? imported.replace(/\.[jt]s$/, '.d.ts') : imported
  if (!existsSync(file)) throw new Error(`${relative(dist, file)} is missing: run npm run build first`)
  return file
}

function manifest(): object {
  const others = [...packages].filter((name) => name !== 'jose')
  if (others.length > 0) throw new Error(`@grantor/resource must depend on jose only, not on ${others.join(', ')}`)
  return {
    name: '@grantor/resource',
    version: grantor.version,
    description: 'Checks the access tokens of a Grantor authorization server in an API or an MCP server',
    license: grantor.license,
    type: 'module',
    engines: { node: '>=20' },
    sideEffects: false,
    exports: { ...entries, './package.json': './package.json' },
    dependencies: { jose: grantor.dependencies.jose },
  }
}
