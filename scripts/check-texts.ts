/**
 * Compares the catalogue of each language in `locales` with the English one. A key that English lacks, an empty text, and placeholders that differ
 * from the English text are errors. A key that a language lacks is only listed: the pages show the English text.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readCatalogue } from '../packages/server/src/pages/catalogue.ts'
import { compareCatalogues } from './texts/compare.ts'

const tags = readdirSync(join(import.meta.dirname, '../packages/server/locales')).map((file) => basename(file, '.json'))
const english = readCatalogue('en')
for (const tag of tags.filter((each) => each !== 'en')) {
  const { faults, missing } = compareCatalogues(english, readCatalogue(tag), tag)
  for (const key of missing) console.log(`locales/${tag}.json lacks ${key}`)
  for (const fault of faults) console.error(`locales/${tag}.json: ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}
