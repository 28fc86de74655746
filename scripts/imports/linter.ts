/** The linter's overrides in .oxlintrc.json, derived from the import rules. */
import { dirname, relative } from 'node:path/posix'
import { type ImportRule, importRules, OTHER_FOLDERS } from './rules.ts'

const BEGIN = '    // import rules: begin (derived from scripts/imports/rules.ts by `npm run import-rules`)\n'
const END = '    // import rules: end\n'

/** The configuration with its derived part replaced. The formatter lays the result out. */
export function withOverrides(configuration: string): string {
  const [from, to] = [configuration.indexOf(BEGIN), configuration.indexOf(END)]
  if (from < 0 || to < from) throw new Error('.oxlintrc.json has lost the lines around its derived part')
  const overrides = importRules.map((rule) => `${JSON.stringify(overrideOf(rule))},\n`)
  return configuration.slice(0, from + BEGIN.length) + overrides.join('') + configuration.slice(to)
}

function overrideOf(rule: ImportRule): object {
  const patterns = [
    { regex: forbiddenPaths(rule), message: `${rule.folder} may not import this (scripts/imports/rules.ts).` },
    { regex: DETOUR, message: 'A relative path goes up first and then down.' },
    ...packagePatterns(rule),
  ]
  return { files: [`${rule.folder}/**`], rules: { 'no-restricted-imports': ['error', { patterns }] } }
}

/** A path such as `../oauth/../store/index.ts`, which would hide the folder that it leads to. */
const DETOUR = '[^./][^/]*/\\.\\./'

/** Matches relative imports of folders that the rule does not allow. */
function forbiddenPaths(rule: ImportRule): string {
  const paths = foldersOutside(rule.folder)
    .filter((folder) => !rule.mayImport.includes(folder))
    .map((folder) => forbiddenPath(rule, folder))
    // From the root down again, every path of `src` begins like this.
    .concat('src/')
  const shortest = paths.filter((path) => !paths.some((other) => path !== other && path.startsWith(other)))
  const pattern = `(^|/)\\.\\.?/(${shortest.join('|')})`
  const above = dirname(rule.folder)
  const isAboveForbidden = importRules.some(({ folder }) => folder === above) && !rule.mayImport.includes(above)
  return isAboveForbidden ? `${pattern}|^\\.\\./[^./][^/]*$` : pattern
}

/** All folders that could be imported, except the folder itself and the folders above it. */
function foldersOutside(folder: string): string[] {
  const source = folder.startsWith('src/') ? importRules.map((rule) => rule.folder).filter((each) => each.startsWith('src/')) : []
  return [...source, 'examples', 'bench', ...OTHER_FOLDERS].filter((each) => each !== folder && !isBelow(folder, each))
}

/** The end of a relative path into the folder. If the rule allows a subfolder, the path matches files of the folder itself only. */
function forbiddenPath({ folder: from, mayImport }: ImportRule, folder: string): string {
  let common = dirname(from)
  while (common !== '.' && !isBelow(folder, common)) common = dirname(common)
  const end = isBelow(folder, from) ? relative(from, folder) : relative(common, folder)
  return mayImport.some((allowed) => isBelow(allowed, folder)) ? `${end}/[^/]*$` : `${end}/`
}

function isBelow(folder: string, above: string): boolean {
  return folder.startsWith(`${above}/`)
}

/** Only `examples` and `bench` use the package by its own name. */
function packagePatterns({ folder, packages, node }: ImportRule): object[] {
  if (packages === 'any' || node === 'any') {
    return folder.startsWith('src/') ? [{ regex: '^grantor(/|$)', message: 'Import the file itself.' }] : []
  }
  const allowed = [...packages.flatMap((name) => [name, `${name}/*`]), ...node.map((name) => `node:${name}`)]
  const named = [...packages, ...node.map((name) => `node:${name}`)].join(', ') || 'none'
  const group = ['*', '!./**', '!../**', '!.', '!..', ...allowed.map((name) => `!${name}`)]
  return [{ group, message: `Packages and modules of Node that ${folder} may import: ${named} (scripts/imports/rules.ts).` }]
}
