/** A summary of a run: its figures and its violations, without any token. The words are those of docs/evidence/reliability.md. */
import { createHash } from 'node:crypto'
import type { Violation } from './check-history.ts'
import { CHAIN, type Entry } from './history.ts'
import type { Mark, Outcome } from './run.ts'

export function summarize({ history: all, faults, cuts, chainChecks, marks, violations }: Outcome): string {
  const history = all.filter(({ node }) => node !== CHAIN)
  const count = (kind: string): number => history.filter(({ told }) => told.kind === kind).length
  const struck = Object.entries(faults).map(([name, times]) => `${name} ${times}`)
  return [
    `${history.length} requests`,
    `${count('tokens')} with tokens`,
    `${count('refused')} refused`,
    `${count('lost')} lost`,
    ...struck,
    ...(cuts > 0 ? [`requests or responses cut ${cuts}`] : []),
    `contracts transferred ${all.filter(({ asked }) => asked.op === 'change_owner').length}, calls to their chain ${chainChecks}`,
    `median refresh ${median(history, 'refresh')} ms, introspection ${median(history, 'introspect')} ms`,
    `longest pause between responses ${longestSilence(history)} s`,
    ...returns(history, marks).map(({ after, seconds }) => {
      const longest = Math.max(...seconds).toFixed(1)
      return `available again after ${after} in ${middle(seconds)?.toFixed(1)} s (median of ${seconds.length}), ${longest} s at most`
    }),
    `violations ${violations.length}`,
  ].join(', ')
}

function median(history: readonly Entry[], op: string): string {
  const times = history.filter(({ asked, told }) => asked.op === op && told.kind !== 'lost').map(({ begin, end }) => end - begin)
  return middle(times)?.toFixed(1) ?? '–'
}

function middle(numbers: number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

export type Return = { after: string; seconds: number[] }

/** Seconds from each kind of fault to the first response to a request that was sent afterwards and had to write: a refresh or a redemption. */
export function returns(history: readonly Entry[], marks: readonly Mark[]): Return[] {
  const written = history.filter(({ told }) => told.kind === 'tokens')
  return [...Map.groupBy(marks, ({ after }) => after)].map(([after, moments]) => ({
    after,
    seconds: moments.map(({ at }) => {
      const first = written.reduce(
        (least, { begin, end }) => (begin >= at ? Math.min(least, end) : least),
        Number.POSITIVE_INFINITY,
      )
      return (first - at) / 1000
    }),
  }))
}

/** The longest time between two responses, in seconds. */
function longestSilence(history: readonly Entry[]): string {
  const answered = history
    .filter(({ told }) => told.kind !== 'lost')
    .map(({ end }) => end)
    .sort((a, b) => a - b)
  const gaps = answered.map((end, index) => end - (answered[index - 1] ?? end))
  return (gaps.reduce((longest, gap) => Math.max(longest, gap), 0) / 1000).toFixed(1)
}

export function explain({ invariant, words, entries }: Violation): string {
  const lines = entries.slice(0, 12).map(describe)
  return [`${invariant}: ${words}`, ...lines].join('\n  ')
}

function describe({ node, caller, asked, told, begin, end, offset }: Entry): string {
  const told_ = Object.entries(told).map(([name, value]) => `${name} ${shorten(String(value))}`)
  const asked_ = Object.entries(asked).map(([name, value]) => `${name} ${shorten(value)}`)
  const at = `${begin.toFixed(1)} to ${end.toFixed(1)}${offset.some((each) => each !== 0) ? ` (clock ${offset.join(', ')})` : ''}`
  return `${at} ${node} ${shorten(caller)}: ${asked_.join(', ')} → ${told_.join(', ')}`
}

/** Enough to distinguish two tokens, and useless for anything else. */
function shorten(text: string): string {
  return text.length <= 20 ? text : `#${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}
