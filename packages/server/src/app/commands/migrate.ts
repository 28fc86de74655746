import type { Settings } from '../../config/settings.ts'
import { isTakenWhileServing } from '../../domain/model/schema-steps.ts'
import { type CommandEnvironment, CommandError, defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { time } from '../../operators/terminal/print.ts'
import {
  type DatabaseStatus,
  databaseName,
  databaseStatus,
  findOtherVersions,
  isThere,
  migrateDatabase,
  readStatements,
  tablesToDistribute,
} from '../compose/database.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { keyKeeping, openFailure, withStore } from '../compose/with-store.ts'
import { compareRestored, readLogFile } from './migrate-log.ts'
import { type Confirming, putRight } from './migrate-restored.ts'

export const migrate = defineCommand({
  name: 'migrate',
  words: 'Migrates the database to the schema of this version, and creates it if it does not exist.',
  about:
    'Run it once before the first grantor serve, and after every update. All steps run in one transaction, except that a step that builds an index has one of its own. A database of a newer version is left unchanged, unless that version allows this one. Make a backup first. Servers of the previous version keep working during the migration if --status says so. On Citus, the command also distributes the tables, while servers run, and prints its progress. The command warns about servers of other versions that are connected to the database.',
  options: {
    status: { words: 'Changes nothing; lists the applied and the pending steps. The exit code is 1 if steps are pending.' },
    restored: {
      words:
        'For a database that was restored to an earlier state (a dump, a copy, a snapshot), with the servers stopped: ends every grant and session in it, withdraws every signed consent, replaces all keys (GRANTOR_SECRET), and lists clients, resources, operators, webhooks and keys for you to confirm. Until then the service is not ready. A database that was recovered up to its last commit does not need it: see docs/operating/recover.md.',
    },
    log: {
      value: 'FILE',
      words:
        'With --restored: the log of all servers since before the restored state, such as /dev/stdin. Then only what this log says ended is ended again. Keys stay. The command lists what operators must repeat.',
    },
    statements: {
      words:
        'Changes nothing and opens no database; prints every statement that the service sends to PostgreSQL, and how many partitions it uses on Citus.',
    },
    check: { words: 'With --log: changes nothing; the exit code is 1 if the database lacks something that the log has.' },
    yes: { words: 'With --restored: confirms without asking.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor migrate',
    'grantor migrate --status --json',
    'grantor migrate --restored',
    'grantor migrate --statements',
    'grantor migrate --restored --log grantor.log --check',
  ],
  program: 'migrate',
  async run({ options }, environment) {
    if (options.statements) return printStatements(options, environment)
    if (options.yes && !options.restored) throw new UsageError('--yes can only be used with --restored')
    if (options.log !== undefined && !options.restored) throw new UsageError('--log can only be used with --restored')
    if (options.check && options.log === undefined) throw new UsageError('--check can only be used with --log')
    if (options.check && options.yes) throw new UsageError('--check changes nothing, so it cannot be used with --yes')
    if (options.status && options.restored) throw new UsageError('--status changes nothing, so it cannot be used with --restored')
    const { databaseUrl } = settingsFor('migrate', environment, options.data)
    // Read before anything is changed, because the new keys need the secret.
    const restoring = options.restored ? settingsFor('keys', environment, options.data) : null
    try {
      if (restoring) return await migrateRestored(restoring, environment, options)
      await warnOfOtherVersions(databaseUrl, environment)
      if (options.status) return await status(databaseUrl, options.json, environment.print)
      const taken = await migrateDatabase(databaseUrl, environment.now(), environment.printError)
      if (options.json) environment.print(JSON.stringify({ taken: taken.map(({ number, name }) => ({ number, name })) }))
      else if (taken.length === 0) environment.print('The database is up to date.')
      else for (const { number, name } of taken) environment.print(`Took step ${number} (${name}).`)
      return EXIT.done
    } catch (error) {
      throw openFailure(error)
    }
  },
})

type StatementOptions = {
  json: boolean
  status: boolean
  restored: boolean
  yes: boolean
  check: boolean
  log: string | undefined
}

async function printStatements(
  { json, log, ...others }: StatementOptions,
  { print }: Pick<CommandEnvironment, 'print'>,
): Promise<number> {
  if (log !== undefined || others.status || others.restored || others.yes || others.check)
    throw new UsageError('--statements can only be used with --json')
  const { page, list } = await readStatements()
  print(json ? JSON.stringify(list) : page.trimEnd())
  return EXIT.done
}

/** A server of another version keeps its connections while the schema changes. Warns only if steps are pending, or tables will be distributed. */
async function warnOfOtherVersions(
  databaseUrl: Settings<'migrate'>['databaseUrl'],
  { printError }: Pick<CommandEnvironment, 'printError'>,
): Promise<void> {
  const { applied, pending } = (await databaseStatus(databaseUrl)) ?? { applied: [], pending: [] }
  const toDistribute = pending.length === 0 && applied.length > 0 ? await tablesToDistribute(databaseUrl) : 0
  if (pending.length + toDistribute === 0) return
  const others = await findOtherVersions(databaseUrl)
  if (others.length === 0) return
  const step = pending.find((each) => !isTakenWhileServing(each, applied))
  if (toDistribute > 0)
    return printError(
      `Warning: the database is in use by ${others.join(', ')}. Stop these servers before the tables are distributed, if their version does not notice Citus (docs/operating/upgrade.md)`,
    )
  const advice = step
    ? `Stop these servers before step ${step.number} (${step.name}) is taken`
    : 'Servers of the previous version may keep running; an older one must be stopped'
  printError(`Warning: the database is in use by ${others.join(', ')}. ${advice}.`)
}

type RestoredOptions = Confirming & { log: string | undefined; check: boolean }

/** The restored database may have an older schema, so it is migrated first. */
async function migrateRestored(
  settings: Settings<'keys'>,
  environment: CommandEnvironment,
  { log: file, check, ...confirming }: RestoredOptions,
): Promise<number> {
  const { databaseUrl } = settings
  if (!isThere(databaseUrl))
    throw new CommandError(`there is no database at ${databaseName(databaseUrl)}; restore the backup there first`)
  if (!check) await migrateDatabase(databaseUrl, environment.now(), environment.printError)
  if (file !== undefined) {
    const log = await readLogFile(file)
    return withStore(settings, environment, (store, now) =>
      compareRestored(store, log, { environment, now, ends: !check, confirming }),
    )
  }
  return withStore(settings, environment, (store, now) =>
    putRight(store, keyKeeping(settings, store, now), environment, confirming),
  )
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
  } else if (pending === null) print(`There is no database at ${databaseName(databaseUrl)} yet; grantor migrate makes it.`)
  else {
    for (const { number, name, applied_at } of applied) print(`${number} ${name}: taken ${time(applied_at)}`)
    for (const step of pending) print(`${step.number} ${step.name}: pending; ${adviceFor(step, applied)}`)
  }
  return pending?.length === 0 ? EXIT.done : EXIT.failed
}

function adviceFor(step: DatabaseStatus['pending'][number], applied: DatabaseStatus['applied']): string {
  if (isTakenWhileServing(step, applied)) return 'run grantor migrate; servers of the previous version may keep running'
  return applied.length === 0 ? 'run grantor migrate' : 'stop every server, then run grantor migrate'
}
