/**
 * Packs every package of this tree into `build/packages`: `grantor`, and the packages that have a part of its files. All have one version.
 * This is the one command of a release: `npm run build:packages -- --output FOLDER`, then `npm publish` each file in the folder.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeWalletConnectPackage } from './build-walletconnect-package.ts'
import { type PackageName, type PackageParts, packages } from './packages.ts'

type Manifest = {
  version: string
  license: string
  dependencies: Record<string, string>
}

const checkout = join(import.meta.dirname, '..')
const grantor = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as Manifest

/** A statement at the beginning of a line, so that examples in comments do not count, or a type that is named in place. */
const IMPORTS = /^(?:import|export)\s[\w\s{},*$]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm

/**
 * Writes the package into `folder`: the compiled files that the entry points need and no others. `compiled` is the folder with what `tsc` made
 * from the whole tree; the package's own project is compiled unless given.
 */
export function writePackage(name: PackageName, folder: string, compiled = compile(packages[name].project)): void {
  const parts: PackageParts = packages[name]
  const roots = Object.values(parts.entries).flatMap((entry) => [`${entry}.js`, `${entry}.d.ts`])
  const used = readImports(roots.map((path) => join(compiled, path)))
  const unexpected = [...used.packages].filter((each) => !isAllowed(parts, each))
  if (unexpected.length > 0) throw new Error(`${name} must not depend on ${unexpected.join(', ')}`)
  rmSync(folder, { recursive: true, force: true })
  for (const file of used.files) copyTo(join(folder, relative(compiled, file)), file)
  for (const [to, from] of Object.entries({ LICENSE: 'LICENSE', 'README.md': parts.guide, ...parts.copies }))
    cpSync(join(checkout, from), join(folder, to), { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(name, parts), null, 2)}\n`)
}

function isAllowed({ dependencies, peers = {} }: PackageParts, name: string): boolean {
  return [...dependencies, ...Object.keys(peers)].some((allowed) => name === allowed || name.startsWith(`${allowed}/`))
}

/** By its path: a caller outside of npm has no commands of the project on its PATH. */
const TSC = join(checkout, 'node_modules/.bin/tsc')

/** The output of `tsc` for a project, in a new folder that mirrors the tree. */
export function compile(project: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-compiled-'))
  const options = ['--noEmit', 'false', '--declaration', '--rootDir', checkout, '--outDir', folder]
  const { status, stdout } = spawnSync(TSC, ['-p', project, ...options], { cwd: checkout, encoding: 'utf8' })
  if (status !== 0) throw new Error(`tsc -p ${project} failed: ${stdout}`)
  return folder
}

/** The files that these files import, directly or not, and the packages that any of them imports. */
function readImports(from: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const waiting = [...from]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    for (const [, named, inPlace] of readFileSync(file, 'utf8').matchAll(IMPORTS)) {
      const specifier = named ?? inPlace ?? ''
      if (specifier.startsWith('.')) waiting.push(compiledFile(resolve(dirname(file), specifier), file))
      else if (!specifier.startsWith('node:')) packages.add(specifier)
    }
  }
  return { files, packages }
}

/** A declaration file imports `./x.js` or `./x.ts`, and means `./x.d.ts`. */
function compiledFile(imported: string, importer: string): string {
  const file = importer.endsWith('.d.ts') ? imported.replace(/\.[jt]s$/, '.d.ts') : imported
  if (!existsSync(file)) throw new Error(`${file} is missing: run npm run build first`)
  return file
}

function copyTo(to: string, from: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

function manifestOf(name: PackageName, { description, entries, bin, dependencies, peers, node }: PackageParts): object {
  const exports = Object.entries(entries).map(
    ([entry, path]) => [entry, { types: `./${path}.d.ts`, default: `./${path}.js` }] as const,
  )
  return {
    name,
    version: grantor.version,
    description,
    license: grantor.license,
    type: 'module',
    engines: { node },
    sideEffects: false,
    ...(bin && { bin }),
    exports: Object.fromEntries<unknown>([...exports, ['./package.json', './package.json']]),
    ...(dependencies.length > 0 && {
      dependencies: Object.fromEntries(dependencies.map((each) => [each, grantor.dependencies[each]])),
    }),
    ...(peers && {
      peerDependencies: peers,
      peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((each) => [each, { optional: true }])),
    }),
  }
}

/** Packs all packages, and returns the paths of the files. `npm pack` of `grantor` builds `dist`. */
async function packAll(output: string): Promise<void> {
  mkdirSync(output, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'grantor-packages-'))
  try {
    pack(checkout, output)
    for (const name of Object.keys(packages) as PackageName[]) {
      const { project } = packages[name]
      writePackage(name, join(folder, name), project === '.' ? join(checkout, 'dist') : compile(project))
      pack(join(folder, name), output)
    }
    await writeWalletConnectPackage(join(folder, 'walletconnect'))
    pack(join(folder, 'walletconnect'), output)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function pack(folder: string, output: string): void {
  const options = ['pack', '--silent', '--pack-destination', output]
  const { status } = spawnSync('npm', [...options, ...(folder === checkout ? [] : [folder])], { cwd: checkout, stdio: 'inherit' })
  if (status !== 0) throw new Error(`npm pack ${folder} failed`)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { output: { type: 'string', default: join(checkout, 'build/packages') } } })
  await packAll(resolve(values.output))
}
