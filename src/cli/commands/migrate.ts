import type { Settings } from '../../config/settings.ts'
import { isTakenWhileServing } from '../../grants/schema-steps.ts'
import { defineCommand, EXIT, Failure, UsageFailure, type World } from '../command.ts'
import { failureOf, keyKeeping, withStore } from '../compose.ts'
import { type DatabaseStatus, databaseStatus, isThere, migrateDatabase, placeOf } from '../database.ts'
import { time } from '../print.ts'
import { type Confirming, putRight } from '../restored.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'

export const migrate = defineCommand({
  name: 'migrate',
  words: 'Brings the database to the schema of this version, making it where there is none.',
  about: [
    'Run it once before the first grantor serve, and after every update. All steps are taken in one transaction; a database made by a newer version is left alone, unless that one left room for this one. Make a backup first. Servers of the version before go on working meanwhile where --status says so.',
  ],
  options: {
    status: { words: 'Changes nothing; tells which steps were taken and which are pending. Exit code 1 when some are.' },
    restored: {
      words:
        'For a database that was restored to an earlier state (a dump, a copy, a snapshot), with the servers stopped: ends every grant and session in it, withdraws every signed consent, replaces all keys (GRANTOR_SECRET), and lists clients and keys for you to confirm. Until then the service is not ready. A database that was recovered up to its last commit does not need it: see docs/operations.md.',
    },
    yes: { words: 'With --restored: confirms without asking.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor migrate', 'grantor migrate --status --json', 'grantor migrate --restored'],
  program: 'migrate',
  async run({ options }, world) {
    if (options.yes && !options.restored) throw new UsageFailure('--yes goes with --restored')
    if (options.status && options.restored) throw new UsageFailure('--status changes nothing, so it does not go with --restored')
    const { databaseUrl } = settingsFor('migrate', world, options.data)
    // Read before anything is changed: the new keys need the secret.
    const restoring = options.restored ? settingsFor('keys', world, options.data) : null
    try {
      if (restoring) return await restored(restoring, world, options)
      if (options.status) return await status(databaseUrl, options.json, world.print)
      const taken = await migrateDatabase(databaseUrl, world.now())
      if (options.json) world.print(JSON.stringify({ taken: taken.map(({ number, name }) => ({ number, name })) }))
      else if (taken.length === 0) world.print('The database is up to date.')
      else for (const { number, name } of taken) world.print(`Took step ${number} (${name}).`)
      return EXIT.done
    } catch (error) {
      throw failureOf(error)
    }
  },
})

/** A backup may be of an older schema too. */
async function restored(settings: Settings<'keys'>, world: World, confirming: Confirming): Promise<number> {
  const { databaseUrl } = settings
  if (!isThere(databaseUrl)) throw new Failure(`there is no database at ${placeOf(databaseUrl)}; put the backup there first`)
  await migrateDatabase(databaseUrl, world.now())
  return withStore(settings, world, (store, now) => putRight(store, keyKeeping(settings, store, now), world, confirming))
}

async function status(
  databaseUrl: Settings<'migrate'>['databaseUrl'],
  json: boolean,
  print: (line: string) => void,
): Promise<number> {
  const { applied, pending } = (await databaseStatus(databaseUrl)) ?? { applied: [], pending: null }
  if (json) {
    print(
      JSON.stringify({
        exists: pending !== null,
        applied: applied.map(({ number, name, applied_at }) => ({ number, name, applied_at })),
        pending:
          pending?.map((step) => ({ number: step.number, name: step.name, while_serving: isTakenWhileServing(step, applied) })) ??
          [],
      }),
    )
  } else if (pending === null) print(`There is no database at ${placeOf(databaseUrl)} yet; grantor migrate makes it.`)
  else {
    for (const { number, name, applied_at } of applied) print(`${number} ${name}: taken ${time(applied_at)}`)
    for (const step of pending) print(`${step.number} ${step.name}: pending; ${adviceFor(step, applied)}`)
  }
  return pending?.length === 0 ? EXIT.done : EXIT.failed
}

function adviceFor(step: DatabaseStatus['pending'][number], applied: DatabaseStatus['applied']): string {
  if (isTakenWhileServing(step, applied)) return 'run grantor migrate; servers of the version before may go on'
  return applied.length === 0 ? 'run grantor migrate' : 'stop every server, then run grantor migrate'
}
