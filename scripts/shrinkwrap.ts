/**
 * `npm-shrinkwrap.json` of a package. npm installs the dependencies of a package from a registry with the versions of this file, so what was tested is
 * what is installed. npm makes such a file for a whole project only, so this one is made from package-lock.json, with the production dependencies of
 * one workspace.
 */

type Locked = {
  name?: string
  /** a workspace, whose path is `resolved` */
  link?: boolean
  resolved?: string
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

/** `workspace`: its path, such as `packages/server`. In the result it is the project, whose path is empty. */
export function shrinkwrapOf(lock: Lock, workspace: string): Lock {
  const { devDependencies: _, ...project } = lock.packages[workspace] ?? {}
  const packages: Record<string, Locked> = { '': project }
  const waiting = placesOf(lock, '', project)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (packages[path]) continue
    const locked = lockedAt(lock, path)
    packages[path] = Object.fromEntries(Object.entries(locked).filter(([member]) => !LEFT_OUT.has(member)))
    waiting.push(...placesOf(lock, path, locked))
  }
  const sorted = Object.keys(packages).toSorted((a, b) => (a < b ? -1 : 1))
  const { name, version } = project
  return { ...lock, name, version, packages: Object.fromEntries(sorted.map((path) => [path, packages[path] ?? {}])) }
}

/** A package of this repository is a link to its workspace, and an installed package later. */
function lockedAt(lock: Lock, path: string): Locked {
  const locked = lock.packages[path] ?? {}
  if (!locked.link) return locked
  const { devDependencies: _, ...workspace } = lock.packages[locked.resolved ?? ''] ?? {}
  return workspace
}

function placesOf(lock: Lock, path: string, locked: Locked): string[] {
  return neededBy(locked).flatMap((name) => placeOf(lock, path, name) ?? [])
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
