/**
 * `grantor migrate --restored --log FILE`: compares a restored or promoted database with the log of the servers, and ends only what the log says
 * ended (docs/decisions/0079-what-a-promotion-lost.md).
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import {
  CLOCKS_DIFFER,
  type Comparison,
  compareWithLog,
  type Log,
  readLog,
  TooManyLines,
} from '../../domain/maintenance/end-again.ts'
import type { Restoration } from '../../domain/model/operator-store.ts'
import type { Store } from '../../domain/model/store.ts'
import { recordAct } from '../compose/record-act.ts'
import { type CommandEnvironment, CommandError, EXIT } from '../terminal/command.ts'
import { counted, time } from '../terminal/print.ts'
import { askForConfirmation, type Confirming } from './migrate-restored.ts'

export async function readLogFile(file: string): Promise<Log> {
  const input = createReadStream(file, 'utf8')
  try {
    return await readLog(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }), Date.parse)
  } catch (error) {
    if (error instanceof TooManyLines)
      throw new CommandError('the log has too many lines; leave out what is older than the restored state, and try again')
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

type Comparing = { environment: CommandEnvironment; now: () => number; ends: boolean; confirming: Confirming }

/** The exit code is 1 if the database lacks something and `ends` is false, or if acts of operators are missing and were not confirmed. */
export async function compareRestored(store: Store, log: Log, comparing: Comparing): Promise<number> {
  await refuseLateLog(store, log)
  const { environment, now, ends, confirming } = comparing
  const parts = { store, now }
  const found = await compareWithLog(parts, log, { ends: false })
  const isComplete = !lacks(found)
  // The service stays unready from before the first change until an operator has repeated what is missing.
  const restoration = ends && found.acts.length > 0 ? await store.restorations.beginRestoration(now()) : null
  if (ends && !isComplete) {
    const { revived } = await compareWithLog(parts, log, { ends: true })
    await recordAct(store, environment, { event: 'restoration_begun', at: now(), details: revived })
  }
  if (!confirming.json) for (const line of reportLines(found, { ends })) environment.print(line)
  const isConfirmed = restoration === null || (await confirmActs(store, restoration, comparing))
  if (confirming.json) environment.print(JSON.stringify({ ...recordOf(found), complete: isComplete, confirmed: isConfirmed }))
  return (ends ? isConfirmed : isComplete) ? EXIT.done : EXIT.failed
}

/** Whether anything that the servers acknowledged is missing. */
function lacks({ missing, acts, revived }: Comparison): boolean {
  return missing > 0 || acts.length > 0 || Object.values(revived).some((number) => number > 0)
}

/** What was acknowledged before the first line cannot be compared. */
async function refuseLateLog({ restorations }: Pick<Store, 'restorations'>, { from }: Log): Promise<void> {
  if (from === null) throw new CommandError('the log has no line of the audit log ("log":"audit")')
  const replayEnd = await restorations.readReplayEnd()
  if (replayEnd === null || from <= replayEnd - CLOCKS_DIFFER) return
  throw new CommandError([
    `the log begins at ${time(from)}, and the database was promoted or recovered with changes until ${time(replayEnd)}.`,
    `Use a log that begins before ${time(replayEnd - CLOCKS_DIFFER)}.`,
  ])
}

async function confirmActs(
  store: Store,
  { number }: Restoration,
  { environment, now, confirming: { yes, json } }: Comparing,
): Promise<boolean> {
  const confirmed = yes || (!json && (await askForConfirmation(environment)))
  if (confirmed) {
    await store.restorations.confirmRestoration(number, now())
    await recordAct(store, environment, { event: 'restoration_confirmed', at: now() })
  }
  if (!json)
    environment.print(
      confirmed
        ? 'Confirmed: grantor serve becomes ready.'
        : 'Not confirmed: /health/ready stays 503 until you repeat the acts and run the command again with --yes.',
    )
  return confirmed
}

function reportLines(found: Comparison, { ends }: { ends: boolean }): string[] {
  const { lines, from, until, missing, revived, acts } = found
  const { grants, sessions, receipts, tokens } = revived
  const sum = [counted(grants, 'grant'), counted(sessions, 'session'), counted(receipts, 'receipt'), counted(tokens, 'token')]
  return [
    `Compared ${counted(lines, 'line')} of the log, from ${time(from ?? 0)} to ${time(until ?? 0)}.`,
    ...(lacks(found)
      ? [
          `${counted(missing, 'line')} missing in the audit trail.`,
          `${ends ? 'Ended again' : 'Active again'}: ${sum.join(', ')}.`,
          ...(acts.length === 0 ? [] : ['These acts of operators are missing, or may be. Repeat them:', ...acts]),
        ]
      : ['Nothing is missing that these servers acknowledged.']),
    'The log does not have commands of grantor. Repeat those that were run shortly before the loss, if there were any.',
  ]
}

function recordOf({ acts, ...found }: Comparison) {
  return { ...found, acts: acts.map((text) => JSON.parse(text.slice(text.indexOf('{'))) as unknown) }
}
