/** Reads the imports of files, by value and by type, and reports those that break an import rule and those that form a circle. */
import { dirname, join } from 'node:path/posix'
import { parseAst } from 'rolldown/parseAst'
import { type ImportRule, ruleOf } from './rules.ts'

export type Imports = {
  /** paths from the root */
  files: string[]
  /** packages and modules of Node, by name */
  others: string[]
}

export function readImports(file: string, text: string): Imports {
  const names: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, source, expression } = node as { type?: string; source?: Name; expression?: Name }
    // `import … from`, `export … from`, `import()` and `type … = import()` have a source, `import … = require()` has an expression.
    const name = type === 'TSExternalModuleReference' ? expression : source
    if (typeof name?.value === 'string') names.push(name.value)
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(text, { lang: file.endsWith('.ts') ? 'ts' : 'js' }))
  const files = names.filter((name) => name.startsWith('.')).map((name) => join(dirname(file), name))
  return { files, others: names.filter((name) => !name.startsWith('.')) }
}

type Name = { value?: unknown } | null

/** The imports that the rule of the file does not allow. `tsc -b` refuses the files outside of `src`, `demo` and `locales`, and packages without a reference. */
export function forbiddenImports(file: string, { files, others }: Imports): string[] {
  const rule = ruleOf(file)
  if (!rule) return []
  return [...files.filter((target) => !mayImportFrom(rule, ruleOf(target))), ...others.filter((name) => !mayUse(rule, name))]
}

function mayImportFrom(rule: ImportRule, target = rule): boolean {
  return target === rule || rule.mayImport.includes(target.folder)
}

function mayUse({ others }: ImportRule, name: string): boolean {
  return others === 'any' || others.some((allowed) => name === allowed || name.startsWith(`${allowed}/`))
}

/** From each file or folder to those that it imports. */
type Graph = ReadonlyMap<string, readonly string[]>

/** From each folder of a room, such as `src/domain/tokens`, to the folders that its files import. */
export function foldersOf(imports: Graph): Graph {
  const folders = new Map<string, string[]>()
  for (const [file, names] of imports) {
    const folder = folderOf(file)
    folders.set(folder, [...(folders.get(folder) ?? []), ...names.map(folderOf).filter((name) => name !== folder)])
  }
  return folders
}

const folderOf = (file: string): string => dirname(file).split('/').slice(0, 3).join('/')

/** Each circle once, as the files or folders on it. */
export function circles(imports: Graph): string[][] {
  const open = new Map(imports)
  const found: string[][] = []
  for (;;) {
    removeLeaves(open)
    const [start] = open.keys()
    if (start === undefined) return found
    const circle = circleBehind(start, open)
    for (const name of circle) open.delete(name)
    found.push(circle)
  }
}

/** Removes what imports nothing of the rest, until everything that is left imports something that is left. */
function removeLeaves(open: Map<string, readonly string[]>): void {
  for (let leaves = ['']; leaves.length > 0; ) {
    leaves = [...open].filter(([, names]) => !names.some((name) => open.has(name))).map(([file]) => file)
    for (const leaf of leaves) open.delete(leaf)
  }
}

/** Follows the first import from file to file, to the first file that was visited before. */
function circleBehind(start: string, open: Graph): string[] {
  const path: string[] = []
  let file: string | undefined = start
  while (file !== undefined && !path.includes(file)) {
    path.push(file)
    file = open.get(file)?.find((name) => open.has(name))
  }
  return path.slice(path.indexOf(file ?? start))
}
