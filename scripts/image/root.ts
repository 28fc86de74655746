/** The root file system of the image: Node, its libraries, the packed package with its production dependencies, and one user. */
import {
  chmodSync,
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Lock } from '../shrinkwrap.ts'
import { copyrightOf, librariesOf } from './debian.ts'
import { run } from './run.ts'
import { sbomOf } from './sbom.ts'

export const USER = 65_532
export const NODE = '/usr/bin/node'
export const PACKAGE = '/usr/lib/node_modules/grantor'
const SBOM = '/usr/share/doc/grantor/sbom.cdx.json'

/** A runtime cannot create these folders in a root file system that is read-only. */
const MOUNT_POINTS = ['dev', 'proc', 'sys', 'var/lib']

const FILES = {
  '/etc/passwd': `grantor:x:${USER}:${USER}:Grantor:/var/lib/grantor:/nonexistent\n`,
  '/etc/group': `grantor:x:${USER}:\n`,
  // names from /etc/hosts first, as on a machine
  '/etc/nsswitch.conf': 'hosts: files dns\n',
}

/** Fills the folder `root`. `checkout` is this repository. */
export function fillRoot(root: string, checkout: string, epoch: number): void {
  const nodePath = join(checkout, 'node_modules/node/bin/node')
  const libraries = librariesOf(nodePath)
  copy(nodePath, join(root, NODE))
  for (const { path } of libraries) copy(path, join(root, path))
  for (const name of new Set(libraries.map((library) => library.package))) {
    copy(copyrightOf(name), join(root, 'usr/share/doc', name, 'copyright'))
  }
  for (const [path, text] of Object.entries(FILES)) write(join(root, path), text)
  const packageFolder = join(root, PACKAGE)
  const packed = mkdtempSync(join(tmpdir(), 'grantor-packed-'))
  run(process.execPath, [join(checkout, 'scripts/pack.ts'), '--output', packed], { cwd: checkout })
  installPackage(packageFolder, packed)
  const nodeVersion = run(nodePath, ['--version']).slice(1)
  for (const path of MOUNT_POINTS) mkdirSync(join(root, path), { recursive: true })
  // npm alone reads these two, and the second names the registry that the builder uses
  for (const path of ['package-lock.json', 'node_modules/.package-lock.json']) rmSync(join(packageFolder, path))
  // `test-issuer`. It needs `grantor`, and npm knows no package that needs the project itself.
  const further = [{ name: '@grantor/testing', version: versionOf(packageFolder) }]
  write(join(root, SBOM), sbomOf({ packageFolder, nodePath, nodeVersion, libraries, further, epoch }))
  extractOwn(packed, 'testing', packageFolder)
  rmSync(packed, { recursive: true })
  normalizeModes(root)
}

/** The package as `npm pack` makes it, with exactly the versions of the lock file. */
function installPackage(folder: string, packed: string): void {
  extract(packed, 'grantor-[0-9]*.tgz', folder)
  installDependencies(folder)
  for (const name of ['protocol', 'resource']) extractOwn(packed, name, folder)
}

function extractOwn(packed: string, name: string, folder: string): void {
  extract(packed, `grantor-${name}-*.tgz`, join(folder, 'node_modules/@grantor', name))
}

function extract(packed: string, pattern: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const [archive = pattern] = globSync(pattern, { cwd: packed })
  run('tar', ['--extract', '--gzip', '--strip-components=1', '--directory', folder, '--file', join(packed, archive)])
}

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
}

/** What the shrinkwrap lists, except for the packages of this repository, which may be in no registry yet. */
function installDependencies(folder: string): void {
  const [manifestPath, shrinkwrapPath] = [join(folder, 'package.json'), join(folder, 'npm-shrinkwrap.json')]
  const manifest = readFileSync(manifestPath, 'utf8')
  const lock = JSON.parse(readFileSync(shrinkwrapPath, 'utf8')) as Lock
  rmSync(shrinkwrapPath)
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(withoutOwn(lock)))
  writeFileSync(manifestPath, JSON.stringify(withoutOwnDependencies(JSON.parse(manifest) as Project)))
  // no script of a dependency runs; programs that dependencies install are not needed
  const options = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-bin-links', '--no-audit', '--no-fund', '--silent']
  run('npm', ['ci', ...options], { cwd: folder })
  writeFileSync(manifestPath, manifest)
}

type Project = Lock['packages'][string]

function withoutOwn(lock: Lock): Lock {
  const others = Object.entries(lock.packages).filter(([path]) => !path.startsWith('node_modules/@grantor/'))
  return { ...lock, packages: Object.fromEntries(others.map(([path, each]) => [path, withoutOwnDependencies(each)])) }
}

function withoutOwnDependencies(project: Project): Project {
  const { devDependencies: _, dependencies = {}, ...rest } = project
  return {
    ...rest,
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => !name.startsWith('@grantor/'))),
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** The umask of the builder, and the modes in archives, must not change the image. */
function normalizeModes(folder: string): void {
  chmodSync(folder, 0o755)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const entry = lstatSync(path)
    if (entry.isDirectory()) normalizeModes(path)
    else if (entry.isFile()) chmodSync(path, isProgram(path) ? 0o755 : 0o644)
    else throw new Error(`${path} is neither a file nor a folder`)
  }
}

/** Whether the file is an ELF file: Node, the loader or a library. Only these files are executable in the image. */
function isProgram(path: string): boolean {
  return readFileSync(path).subarray(0, 4).equals(Buffer.from('\x7fELF', 'latin1'))
}
