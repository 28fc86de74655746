import { existsSync } from 'node:fs'
import { migrateSqlite, sqliteMigrationStatus } from '../../store/sqlite/index.ts'
import { defineCommand, EXIT } from '../command.ts'
import { failureOf } from '../compose.ts'
import { time } from '../print.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'

export const migrate = defineCommand({
  name: 'migrate',
  words: 'Brings the database to the schema of this version, making it where there is none.',
  about: [
    'Run it once before the first grantor serve, and after every update. All steps are taken in one transaction; a database made by a newer version is left alone. Make a backup first.',
  ],
  options: {
    status: { words: 'Changes nothing; tells which steps were taken and which are pending. Exit code 1 when some are.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor migrate', 'grantor migrate --status --json'],
  program: 'migrate',
  async run({ options }, world) {
    const { path } = settingsFor('migrate', world, options.data).databaseUrl
    try {
      if (options.status) return await status(path, options.json, world.print)
      const taken = await migrateSqlite(path, world.now())
      if (options.json) world.print(JSON.stringify({ taken: taken.map(({ number, name }) => ({ number, name })) }))
      else if (taken.length === 0) world.print('The database is up to date.')
      else for (const { number, name } of taken) world.print(`Took step ${number} (${name}).`)
      return EXIT.done
    } catch (error) {
      throw failureOf(error)
    }
  },
})

async function status(path: string, json: boolean, print: (line: string) => void): Promise<number> {
  // Looking must not make the file.
  const { applied, pending } = existsSync(path) ? await sqliteMigrationStatus(path) : { applied: [], pending: null }
  if (json) {
    print(
      JSON.stringify({
        exists: pending !== null,
        applied: applied.map(({ number, name, applied_at }) => ({ number, name, applied_at })),
        pending: pending?.map(({ number, name }) => ({ number, name })) ?? [],
      }),
    )
  } else if (pending === null) print(`There is no database at ${path} yet; grantor migrate makes it.`)
  else {
    for (const { number, name, applied_at } of applied) print(`${number} ${name}: taken ${time(applied_at)}`)
    for (const { number, name } of pending) print(`${number} ${name}: pending; run grantor migrate`)
  }
  return pending?.length === 0 ? EXIT.done : EXIT.failed
}
