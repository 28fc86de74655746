/** The command of a list: its records as a table or as JSON, printed page by page. */

import type { Members } from '../../members/member.ts'
import { subjectOf } from '../../operations/all.ts'
import { type Call, type CommandOperation, type CommandWords, type Listed, perform } from '../../operations/operation.ts'
import { type CommandEnvironment, type OptionSpecs, UsageError } from '../command.ts'
import { growingColumns } from '../print.ts'
import { cellText } from './print.ts'

/** A list is read this many records at a time. */
const PAGE = 500

type ListOptions = { limit?: string; all?: boolean; json?: boolean }

export function listOptions({ subject }: CommandOperation, { stream }: CommandWords): OptionSpecs {
  if (!stream) return {}
  const { noun } = subjectOf(subject)
  return {
    limit: { value: 'N', words: `The maximum number of ${noun}s: 100 unless given.` },
    ...(stream === 'array' && { all: { words: `All ${noun}s, without a limit.` } }),
  }
}

/** The number of records to print. */
export function limitFrom({ subject }: CommandOperation, { stream }: CommandWords, { limit: text, all }: ListOptions): number {
  if (!stream) return Number.POSITIVE_INFINITY
  if (all && text !== undefined) throw new UsageError('--limit and --all contradict each other; give one of them')
  if (all) return Number.POSITIVE_INFINITY
  const value = /^\d{1,9}$/.test(text ?? '100') ? Number(text ?? '100') : 0
  if (value >= 1) return value
  const forAll = stream === 'array' ? `; for all ${subjectOf(subject).noun}s: --all` : ''
  throw new UsageError(`--limit must be a whole number from 1 to 999999999, not "${text}"${forAll}`)
}

type ListRun = {
  operation: CommandOperation
  words: CommandWords
  given: ListOptions
  atMost: number
  environment: CommandEnvironment
}

export async function printList({ operation, words, given, atMost, environment }: ListRun, call: Call): Promise<void> {
  const pages = pagesOf(operation as CommandOperation<Listed>, call, atMost)
  const lines = given.json ? jsonLines(pages, words.stream) : tableLines(pages, operation)
  for await (const page of lines) {
    for (const line of page) environment.print(line)
    if (environment.isRead?.() === false) return
  }
}

/** A page is read when the one before it was printed. */
async function* pagesOf(operation: CommandOperation<Listed>, call: Call, atMost: number): AsyncGenerator<Members[]> {
  let after: unknown
  for (let left = atMost; left > 0 && after !== null; ) {
    const { items, next = null } = (await perform(operation, { ...call, page: { limit: Math.min(left, PAGE), after } })).output
    if (items.length > 0) yield items
    left -= items.length
    after = next
  }
}

async function* tableLines(pages: AsyncGenerator<Members[]>, { subject }: CommandOperation): AsyncGenerator<string[]> {
  const { displays, empty } = subjectOf(subject)
  const shown = displays.filter(({ column }) => column !== undefined)
  const table = growingColumns(shown.map(({ column }) => column ?? ''))
  let isEmpty = true
  for await (const page of pages) {
    isEmpty &&= page.length === 0
    if (!isEmpty) yield table(page.map((record) => shown.map((display) => cellText(display.shown(record)))))
  }
  if (isEmpty) yield [empty]
}

/** One object on each line, one array with one record on each line, or one array on one line. */
async function* jsonLines(pages: AsyncGenerator<Members[]>, stream: CommandWords['stream']): AsyncGenerator<string[]> {
  const all: Members[] = []
  // A line of an array is printed when it is known whether a comma follows.
  let last = '['
  const withComma = (record: Members): string => {
    const line = last === '[' ? last : `${last},`
    last = JSON.stringify(record)
    return line
  }
  for await (const page of pages) {
    if (stream === 'array') yield page.map(withComma)
    else if (stream) yield page.map((record) => JSON.stringify(record))
    else all.push(...page)
  }
  if (!stream) yield [JSON.stringify(all)]
  else if (stream === 'array') yield [last === '[' ? '[]' : `${last}\n]`]
}
