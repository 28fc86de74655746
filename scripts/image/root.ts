/** The root file system of the image: Node, its libraries, the packed package with its production dependencies, and one user. */
import { chmodSync, copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
  installPackage(packageFolder, checkout)
  const nodeVersion = run(nodePath, ['--version']).slice(1)
  for (const path of MOUNT_POINTS) mkdirSync(join(root, path), { recursive: true })
  // npm alone reads these two, and the second names the registry that the builder uses
  for (const path of ['package-lock.json', 'node_modules/.package-lock.json']) rmSync(join(packageFolder, path))
  write(join(root, SBOM), sbomOf({ packageFolder, nodePath, nodeVersion, libraries, epoch }))
  normalizeModes(root)
}

/** The package as `npm pack` makes it, with exactly the versions of the lock file. */
function installPackage(folder: string, checkout: string): void {
  mkdirSync(folder, { recursive: true })
  const packed = join(folder, '..')
  // the last line is the archive's name; the lines before are those of the build
  const archive = run('npm', ['pack', '--silent', '--pack-destination', packed], { cwd: checkout }).split('\n').at(-1) ?? ''
  run('tar', ['--extract', '--gzip', '--strip-components=1', '--directory', folder, '--file', join(packed, archive)])
  rmSync(join(packed, archive))
  // The lock file of the checkout, which also has the development dependencies of the manifest: `npm ci` compares both.
  rmSync(join(folder, 'npm-shrinkwrap.json'))
  copyFileSync(join(checkout, 'package-lock.json'), join(folder, 'package-lock.json'))
  // no script of a dependency runs; programs that dependencies install are not needed
  run(
    'npm',
    ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', '--no-bin-links', '--no-audit', '--no-fund', '--silent'],
    {
      cwd: folder,
    },
  )
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
