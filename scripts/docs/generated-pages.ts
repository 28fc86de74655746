/**
 * The pages of the documents that are made from the source. Each has a short page in `docs` with the marker `<!-- generated: NAME -->`, so that
 * links to it lead somewhere on a code host too. The site and the package `grantor` have the whole page in its place.
 */
import { settingsPageText } from '../../packages/server/src/config/describe.ts'
import { statementsPage } from '../../packages/server/src/store/citus/statements-page.ts'
import { conformancePage } from '../conformance/page.ts'
import { readTables } from '../conformance/tables.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage } from './events-page.ts'
import { openapiDocument, openapiPage } from './openapi-page.ts'

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  settings: settingsPageText,
  errors: errorsPage,
  events: eventsPage,
  statements: statementsPage,
  conformance: () => conformancePage(readTables()),
  openapi: async () => openapiPage(await openapiDocument()),
  'openapi.json': async () => `${JSON.stringify(await openapiDocument(), null, 2)}\n`,
}

export const PAGE_NAMES: readonly string[] = Object.keys(PAGES)

export async function generatePage(name: string): Promise<string> {
  const make = PAGES[name]
  if (!make) throw new Error(`there is no generated page ${name}; the pages are ${PAGE_NAMES.join(', ')}`)
  return make()
}

/** The name in the marker of a short page; undefined for any other page. */
export const markedPage = (text: string): string | undefined => /^<!-- generated: (\S+) -->$/m.exec(text)?.[1]

/** The whole page in place of a short page; any other page is unchanged. */
export async function completePage(text: string): Promise<string> {
  const name = markedPage(text)
  return name === undefined ? text : generatePage(name)
}
