/**
 * `grantor migrate --restored --log FILE`: compares a restored or promoted database with the log of the servers, and
 * ends only what ended according to the log (docs/decisions/0020-recovery.md).
 */
import { createReadStream } from 'node:fs'
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
import { type CommandEnvironment, CommandError, EXIT } from '../../operators/terminal/command.ts'
import { formatCount, time } from '../../operators/terminal/print.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { recordAct } from '../compose/record-act.ts'
import { askForConfirmation, type Confirming } from './migrate-restored.ts'

export async function readLogFile(file: string): Promise<Log> {
  try {
    return await readLog(logLines(createReadStream(file, 'utf8')), Date.parse)
  } catch (error) {
    if (error instanceof TooManyLines)
      throw new CommandError('the log has too many lines; leave out what is older than the restored state, and try again')
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

/** In characters. A longer line is not one of this program. */
const LINE_AT_MOST = 1024 * 1024

/** Not `node:readline`, which also ends a line at U+2028 and U+2029. JSON does not escape these, so a text of a caller could cut a line. */
async function* logLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length <= LINE_AT_MOST) continue
    yield rest
    rest = ''
  }
  yield rest
}

type LogComparison = { environment: CommandEnvironment; now: () => number; ends: boolean; confirming: Confirming }

/** The exit code is 1 if the database lacks something and `ends` is false, or if acts of operators are missing and were not confirmed. */
export async function compareRestored(store: OpenedStore, log: Log, comparing: LogComparison): Promise<number> {
  await refuseLateLog(store, log)
  const { environment, now, ends, confirming } = comparing
  const parts = { store, waiting: store.placement().waitingBatches, now }
  const found = await compareWithLog(parts, log, { ends: false })
  const isComplete = !lacks(found)
  // The service stays unready from before the first change until an operator has repeated what is missing.
  const restoration = ends && found.acts.length + found.unreadable > 0 ? await store.restorations.beginRestoration(now()) : null
  if (ends && !isComplete) {
    const { revived } = await compareWithLog(parts, log, { ends: true })
    await recordAct(store, environment, { event: 'restoration_begun', at: now(), details: revived })
  }
  if (!confirming.json) for (const line of reportLines(found, { ends })) environment.print(line)
  const isConfirmed = restoration === null || (await confirmActs(store, restoration, comparing))
  if (confirming.json) environment.print(JSON.stringify({ ...recordOf(found), complete: isComplete, confirmed: isConfirmed }))
  return (ends ? isConfirmed : isComplete) ? EXIT.done : EXIT.failed
}

/** Whether anything that the servers acknowledged is missing, or may be. */
function lacks({ missing, acts, unreadable, revived }: Comparison): boolean {
  return missing > 0 || acts.length > 0 || unreadable > 0 || Object.values(revived).some((number) => number > 0)
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
  { environment, now, confirming: { yes, json } }: LogComparison,
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
  const { lines, from, until, unreadable, firstUnreadable, missing, revived, acts } = found
  const { grants, sessions, receipts, tokens } = revived
  const sum = [
    formatCount(grants, 'grant'),
    formatCount(sessions, 'session'),
    formatCount(receipts, 'receipt'),
    formatCount(tokens, 'token'),
  ]
  // A line of the log, for a terminal.
  const printable = (text: string) => text.replaceAll(/\p{Cc}/gu, '?')
  return [
    `Compared ${formatCount(lines, 'line')} of the log, from ${time(from ?? 0)} to ${time(until ?? 0)}.`,
    ...(lacks(found)
      ? [
          `${formatCount(missing, 'line')} missing in the audit trail.`,
          `${ends ? 'Ended again' : 'Active again'}: ${sum.join(', ')}.`,
          ...(unreadable === 0
            ? []
            : [
                `${formatCount(unreadable, 'line')} of the audit log cannot be read, and may be ${unreadable === 1 ? 'an ending' : 'endings'}. The first one:`,
                printable(firstUnreadable ?? ''),
              ]),
          ...(acts.length === 0 ? [] : ['These acts of operators are missing, or may be. Repeat them:', ...acts.map(printable)]),
        ]
      : ['Nothing is missing that these servers acknowledged.']),
    'The log does not have commands of grantor. Repeat those that were run shortly before the loss, if there were any.',
  ]
}

function recordOf({ acts, firstUnreadable, ...found }: Comparison) {
  return {
    ...found,
    first_unreadable: firstUnreadable,
    acts: acts.map((text) => JSON.parse(text) as unknown),
  }
}
