/** Makes the folder of the new app: complete, or not at all. */
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { CreateError } from './create-error.ts'
import { type TemplateName, templates } from './templates.ts'

export type NewApp = {
  folder: string
  template: TemplateName
  ports: { app: number; grantor: number }
  /** files to install in place of packages of the registry, by the names of the packages */
  files: Readonly<Record<string, string>>
}

const TEMPLATES = join(import.meta.dirname, '../templates')
const IGNORED = ['node_modules', '.env', '.grantor', '.next', '.venv', '__pycache__', '.pytest_cache']
/** A name that npm accepts. Users see the name on the login page. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,59}$/
const TEXT_FILES = ['.js', '.json', '.html', '.css', '.md', '.py', '.txt']

export function nameOf(folder: string): string {
  const name = basename(resolve(folder)).toLowerCase()
  if (NAME.test(name)) return name
  throw new CreateError(
    `The name of the folder is also the name of the app: use up to 60 letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}.`,
  )
}

/** Throws unless there is no such folder, or an empty one. */
export function requireEmpty(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new CreateError(`${folder} is a file. Choose another name.`)
  const [first] = readdirSync(folder)
  if (first !== undefined)
    throw new CreateError(`${folder} is not empty: it has ${first}. Choose another name. Nothing was changed.`)
}

/** An empty folder that exists stays: it can be the current folder of a shell. */
function moveTo(place: string, draft: string): void {
  if (!existsSync(place)) return renameSync(draft, place)
  for (const name of readdirSync(draft)) renameSync(join(draft, name), join(place, name))
  rmSync(draft, { recursive: true })
}

/** Undoes `createFiles`. `wasThere`: true if the folder existed before. */
export function removeFiles(folder: string, { wasThere }: { wasThere: boolean }): void {
  if (!wasThere) return rmSync(folder, { recursive: true, force: true })
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
}

/** Makes the files in a hidden folder, and moves them to their place when they are complete. */
export function createFiles({ folder, template, ports, files }: NewApp): void {
  requireEmpty(folder)
  const name = nameOf(folder)
  const place = resolve(folder)
  mkdirSync(dirname(place), { recursive: true })
  // A folder that exists may be a mounted volume: files cannot be moved to it from outside.
  const parent = existsSync(place) ? place : dirname(place)
  // Not `mkdtemp`, whose folders are private: the app is an ordinary folder.
  const draft = join(parent, `.create-grantor-app-${randomBytes(8).toString('hex')}`)
  try {
    mkdirSync(draft)
    const { secret, styles } = templates[template]
    cpSync(join(TEMPLATES, template), draft, { recursive: true })
    cpSync(join(TEMPLATES, 'style.css'), join(draft, styles))
    for (const path of filesOf(draft)) writeFileSync(path, adaptTemplate(readFileSync(path, 'utf8'), name, ports))
    if (Object.keys(files).length > 0) useFiles(join(draft, 'package.json'), files)
    writeFileSync(join(draft, '.gitignore'), `${IGNORED.join('\n')}\n`)
    if (secret !== null) writeFileSync(join(draft, '.env'), environmentOf(secret, ports.app), { mode: 0o600 })
    moveTo(place, draft)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new CreateError(`${folder} cannot be written (${code}). Nothing was changed.`)
  }
}

function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && TEXT_FILES.includes(extname(entry.name)))
  return files.map((entry) => join(entry.parentPath, entry.name))
}

function adaptTemplate(text: string, name: string, { app, grantor }: NewApp['ports']): string {
  // The ports first: the name of the app may contain such a number.
  return text
    .replace(/\b[34]000\b/g, (port) => String(port === '3000' ? app : grantor))
    .replaceAll('my-grantor-app', name)
    .replaceAll('0.0.0-template', ownVersion())
}

/** All packages of Grantor have one version. */
function ownVersion(): string {
  return (JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { version: string }).version
}

function useFiles(path: string, files: NewApp['files']): void {
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  for (const kind of ['dependencies', 'devDependencies']) {
    const own = (manifest[kind] ?? {}) as Record<string, string>
    for (const name of Object.keys(own)) if (files[name] !== undefined) own[name] = files[name]
  }
  // What the packages of the template need of each other is in no registry either.
  const named = { ...(manifest.dependencies as object), ...(manifest.devDependencies as object) }
  const others = Object.entries(files).filter(([name]) => !Object.hasOwn(named, name))
  manifest.devDependencies = { ...(manifest.devDependencies as object), ...Object.fromEntries(others) }
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`)
}

function environmentOf(secret: string, port: number): string {
  const lines = [`${secret}=${randomBytes(32).toString('base64url')}`]
  if (secret === 'NEXTAUTH_SECRET') lines.push(`NEXTAUTH_URL=http://localhost:${port}`)
  return `${lines.join('\n')}\n`
}
