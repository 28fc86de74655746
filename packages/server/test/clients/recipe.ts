/** Runs the recipes of docs/guides unchanged: registers the clients with the page's commands, and imports the code. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { run } from '../app/run.ts'
import { blocksOf } from '../support/page-blocks.ts'
import type { Grantor } from '../support/start.ts'

const ROOT = join(import.meta.dirname, '../../../..')
// Below node_modules, so that a recipe can import its library.
const FOLDER = join(ROOT, 'node_modules/.cache/grantor/recipes')

type Page = 'clients' | 'protect-an-api' | 'coming-from-elsewhere' | 'connect-package' | 'create-app' | 'checking-tokens'

/** The block of the page with this language and this mark, as in ```js openid-client. */
export function recipeOf(language: string, mark: string, page: Page = 'clients'): string {
  const block = blocksOf(`guides/${page}.md`).find((each) => each.language === language && each.mark === mark)
  if (!block) throw new Error(`docs/guides/${page}.md has no ${language} block marked ${mark}`)
  return block.text
}

export type RegisteredClient = { client_id: string; client_secret: string }

/** Registers the client of a recipe with the page's command. `places` maps paths, URLs and options of the page to those of the test. */
export async function register(
  grantor: Grantor,
  mark: string,
  places: Record<string, string> = {},
  page: Page = 'clients',
): Promise<RegisteredClient> {
  let command = recipeOf('sh', mark, page).trim()
  for (const [named, real] of Object.entries(places)) command = command.replaceAll(named, real)
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const expected = ['npx', 'grantor', 'clients', 'create', '--data', './data']
  if (words.slice(0, 6).join(' ') !== expected.join(' ')) throw new Error(`not a registration: ${command}`)
  const argv = ['clients', 'create', ...words.slice(6).filter((word) => word !== '--json'), '--json']
  const result = await run(argv, { GRANTOR_DATABASE_URL: `sqlite:${grantor.databasePath}` }, grantor.clock.now())
  if (result.exit !== 0) throw new Error(result.err)
  await grantor.noticeChanges()
  return JSON.parse(result.out) as RegisteredClient
}

let fileCount = 0

/** Writes the block into a new file and returns the path of the file. */
export function recipeFile(language: string, mark: string, extension: string, change = (recipe: string) => recipe): string {
  return writeRecipe(`${mark}.${fileCount++}.${extension}`, change(recipeOf(language, mark)))
}

export function writeRecipe(name: string, text: string): string {
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

/** Imports a JavaScript recipe, whose settings are in the environment. */
export async function importRecipe<Exports>(mark: string, environment: Record<string, string>): Promise<Exports> {
  Object.assign(process.env, environment)
  const path = recipeFile('js', mark, 'mjs')
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  return (await import(pathToFileURL(path).href)) as Exports
}
