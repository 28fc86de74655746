/** Prints records and the outputs of operations in a terminal. */

import { type Members, type Shown, textOf } from '../../members/member.ts'
import { subjectOf } from '../../operations/all.ts'
import { type CommandOperation, type CommandWords, type Display, recordIn, type Subject } from '../../operations/operation.ts'
import { columns, printFacts, time } from '../print.ts'

/** A state in a table has no time. */
export function cellText(shown: Shown): string {
  const text = typeof shown === 'object' && shown !== null && 'state' in shown ? shown.state : shownText(shown)
  return text ?? '-'
}

/** The records of a list as a table. */
export function columnLines({ displays, empty }: Subject, records: readonly Members[]): string[] {
  if (records.length === 0) return [empty]
  const shown = displays.filter(({ column }) => column !== undefined)
  const rows = records.map((record) => shown.map((display) => cellText(display.shown(record))))
  return columns(
    shown.map(({ column }) => column ?? ''),
    rows,
  )
}

/** The sentence, the record and the secret of an output. */
export function outputLines(
  operation: CommandOperation,
  { done, printsMembers }: Pick<CommandWords, 'done' | 'printsMembers'>,
  output: unknown,
  id: string,
): string[] {
  const subject = printsMembers ? { ...subjectOf(operation.subject), displays: [] } : subjectOf(operation.subject)
  const hasFacts = ['get', 'create', 'change'].includes(operation.kind) && (factDisplays(subject).length > 0 || !done)
  const { client_secret, secret = client_secret } = (output ?? {}) as Members
  return [
    ...(done ? [done(output as never, { id })] : []),
    ...(hasFacts ? recordLines(subject, { ...(output as Members), ...recordIn(subject, output) }) : []),
    ...(typeof secret === 'string' ? secretLines(client_secret === undefined ? 'secret' : 'client_secret', secret) : []),
  ]
}

function secretLines(name: string, secret: string): string[] {
  return ['', `  ${name}  ${secret}`, '', 'The secret is shown only once; store it now.']
}

/** What `--json` prints. */
export function outputRecord({ subject }: CommandOperation, { json }: CommandWords, output: unknown, id: string): unknown {
  return json ? json(output as never, { id }) : recordIn(subjectOf(subject), output)
}

/** Without displays for a single record, the record as it is. */
function recordLines(subject: Subject, record: Members): string[] {
  const displays = factDisplays(subject)
  if (displays.length > 0) return printFacts(displays.flatMap((display) => recordFacts(display, record)))
  return printFacts(Object.entries(record).flatMap(([name, value]) => rawFacts(name, value)))
}

function rawFacts(name: string, value: unknown): (readonly [string, string])[] {
  if (value === null) return []
  if (typeof value === 'number' && name.endsWith('_at')) return [[name, time(value)]]
  return [[name, Array.isArray(value) ? value.map(textOf).join(' ') : textOf(value)]]
}

function factDisplays({ displays }: Subject): Display[] {
  return displays.filter(({ print }) => print !== undefined)
}

/** A value of several lines has its name on each of them. */
function recordFacts({ print = '', shown }: Display, record: Members): (readonly [string, string])[] {
  const value = shown(record)
  if (typeof value === 'object' && value !== null && 'lines' in value && value.lines.length > 0)
    return value.lines.map((line) => [print, line] as const)
  const text = shownText(value)
  return text === null ? [] : [[print, text]]
}

function shownText(shown: Shown): string | null {
  if (shown === null || typeof shown === 'string') return shown
  if (typeof shown === 'number') return String(shown)
  if ('exact' in shown) return shown.exact
  if ('lines' in shown) return shown.lines.join(' ') || (shown.none ?? 'none')
  if ('words' in shown) return shown.words.join(' ') || (shown.none ?? 'none')
  if ('time' in shown) return time(shown.time)
  const { state, since = null } = shown
  return since === null ? state : `${state} since ${time(since)}`
}
