/**
 * Writes `npm-shrinkwrap.json` before `npm pack`, and removes the file afterwards (`--remove`). npm installs the dependencies of a package
 * from a registry with the versions of this file, so what was tested is what is installed. The file is made from package-lock.json, and lists production
 * dependencies only.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

type Locked = {
  version?: string
  integrity?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  devDependencies?: Record<string, string>
  [member: string]: unknown
}
/** From the path of each package, such as `node_modules/a/node_modules/b`, to the package. The path of the project is empty. */
export type Lock = { packages: Record<string, Locked>; [member: string]: unknown }

/** Members that are not needed to install a package: the marks of development dependencies, addresses of downloads, and requests for funding. */
const LEFT_OUT = new Set(['resolved', 'dev', 'devOptional', 'peer', 'funding'])

export function shrinkwrapOf(lock: Lock): Lock {
  const { devDependencies: _, ...project } = lock.packages[''] ?? {}
  const packages: Record<string, Locked> = {}
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (packages[path]) continue
    const locked = path === '' ? project : (lock.packages[path] ?? {})
    packages[path] = Object.fromEntries(Object.entries(locked).filter(([member]) => !LEFT_OUT.has(member)))
    for (const name of neededBy(locked)) {
      const found = placeOf(lock, path, name)
      if (found !== undefined) waiting.push(found)
    }
  }
  const sorted = Object.keys(packages).toSorted((a, b) => (a < b ? -1 : 1))
  return { ...lock, packages: Object.fromEntries(sorted.map((path) => [path, packages[path] ?? {}])) }
}

function neededBy({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }: Locked): string[] {
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** Where Node finds the package `name` for a file of the package at `from`. */
function placeOf({ packages }: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[place]) return place
    if (folder === '') return undefined
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { remove: { type: 'boolean', default: false } } })
  const checkout = join(import.meta.dirname, '..')
  const file = join(checkout, 'npm-shrinkwrap.json')
  if (values.remove) rmSync(file, { force: true })
  else {
    const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as Lock
    writeFileSync(file, `${JSON.stringify(shrinkwrapOf(lock), null, 2)}\n`)
  }
}
