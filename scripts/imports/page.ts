/** The table of folders in docs/reference/architecture.md, derived from the import rules. */
import { type ImportRule, importRules } from './rules.ts'

const BEGIN = '<!-- derived from scripts/imports/rules.ts by `npx vitest run packages/server/test/imports -u` -->\n'
const END = '<!-- end of the derived table -->\n'

/** The page with its table replaced. */
export function withTable(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from < 0 || to < from) throw new Error('docs/reference/architecture.md has lost the lines around its table')
  const rows = ['| folder of `packages/server` | owns |', '|---|---|', ...importRules.map(row)]
  return `${page.slice(0, from + BEGIN.length)}\n${rows.join('\n')}\n\n${page.slice(to)}`
}

function row({ folder, owns }: ImportRule): string {
  return `| [\`${folder}\`](../../packages/server/${folder}) | ${owns} |`
}
