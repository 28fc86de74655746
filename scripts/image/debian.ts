/** The shared libraries that a program needs, and the Debian packages that own them. */
import { existsSync, realpathSync } from 'node:fs'
import { run } from './run.ts'

export type Library = {
  /** where the program's loader looks for the library */
  path: string
  package: string
  version: string
  architecture: string
}

/** Every library of a dynamically linked program, with the loader itself. */
export function librariesOf(program: string): Library[] {
  // `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, `/lib64/ld-linux-x86-64.so.2 (0x…)`; `linux-vdso.so.1` is no file
  const lines = run('ldd', [program]).split('\n')
  const missing = lines.find((line) => line.includes('not found'))
  if (missing) throw new Error(`${program} needs a library that this machine does not have: ${missing.trim()}`)
  const paths = lines.flatMap((line) => /(?:=> |^\s+)(\/\S+) \(/.exec(line)?.[1] ?? [])
  return paths.toSorted().map((path) => ({ path, ...ownerOf(path) }))
}

function ownerOf(path: string): Omit<Library, 'path'> {
  // /lib is a link to /usr/lib; a package's list of files may use either name
  const names = [...new Set([path, realpathSync(path)].flatMap((name) => [name, name.replace(/^\/usr/, ''), `/usr${name}`]))]
  for (const name of names) {
    const [, owner] = /^(\S+): \//.exec(run('sh', ['-c', 'dpkg-query --search "$1" 2>&1 || true', 'sh', name])) ?? []
    if (owner === undefined || owner === 'dpkg-query') continue
    const fields = run('dpkg-query', ['--show', '--showformat', '${Package} ${Version} ${Architecture}', owner])
    const [package_ = '', version = '', architecture = ''] = fields.split(' ')
    return { package: package_, version, architecture }
  }
  throw new Error(`no Debian package owns ${path}`)
}

/** The licence text of a package. */
export function copyrightOf(name: string): string {
  const path = `/usr/share/doc/${name}/copyright`
  if (!existsSync(path)) throw new Error(`${path} is missing: an image with ${name} must contain its licence`)
  return path
}
