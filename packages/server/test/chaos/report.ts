/** The report of a run: its figures under the names of docs/evidence/reliability.md, and its violations without full tokens. */
import { createHash } from 'node:crypto'
import { CHAIN, type Entry, type Violation } from './history.ts'
import type { Mark, Outcome } from './run.ts'

export function summarize({ history: all, faults, cuts, chainChecks, marks, order, violations }: Outcome): string {
  const history = all.filter(({ node }) => node !== CHAIN)
  const count = (kind: string): number => history.filter(({ response }) => response.kind === kind).length
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`)
  return [
    `${history.length} requests`,
    `tokens ${count('tokens')}`,
    `approvals asked ${count('asked')}, used ${count('used')}`,
    `draws ${count('drawn')}, given back ${count('returned')}`,
    `refused ${count('refused')}`,
    `lost ${count('lost')}`,
    ...injected,
    ...(cuts > 0 ? [`${cuts} connections cut`] : []),
    `contracts transferred ${all.filter(({ request }) => request.op === 'change_owner').length}`,
    `RPC checks ${chainChecks}`,
    `refresh ${median(history, 'refresh')} ms, introspection ${median(history, 'introspect')} ms`,
    `pause ${longestPause(history)} s`,
    ...recoveryTimes(history, marks).map(({ after, seconds }) => {
      const longest = Math.max(...seconds).toFixed(1)
      return `recovery after ${after} (${seconds.length}) median ${middle(seconds)?.toFixed(1)} s, longest ${longest} s`
    }),
    `order of ${order.operations} operations in the histories of ${order.grants} grants, found in ${order.seconds.toFixed(1)} s`,
    `violations ${violations.length}`,
  ].join(', ')
}

function median(history: readonly Entry[], op: string): string {
  const times = history
    .filter(({ request, response }) => request.op === op && response.kind !== 'lost')
    .map(({ begin, end }) => end - begin)
  return middle(times)?.toFixed(1) ?? '–'
}

function middle(numbers: number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

export type RecoveryTimes = { after: string; seconds: number[] }

/** The seconds from each failure to the first successful write request, a refresh or a redemption, that was sent after it. */
export function recoveryTimes(history: readonly Entry[], marks: readonly Mark[]): RecoveryTimes[] {
  const written = history.filter(({ response }) => response.kind === 'tokens')
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

/** The longest time in seconds in which no client got a response. */
function longestPause(history: readonly Entry[]): string {
  const answered = history
    .filter(({ response }) => response.kind !== 'lost')
    .map(({ end }) => end)
    .sort((a, b) => a - b)
  const gaps = answered.map((end, index) => end - (answered[index - 1] ?? end))
  return (gaps.reduce((longest, gap) => Math.max(longest, gap), 0) / 1000).toFixed(1)
}

export function explain({ invariant, words, entries }: Violation): string {
  const lines = entries.slice(0, 12).map(describe)
  return [`${invariant}: ${words}`, ...lines].join('\n  ')
}

function describe({ node, caller, request, response, begin, end, offset }: Entry): string {
  const responseWords = Object.entries(response).map(([name, value]) => `${name} ${shorten(String(value))}`)
  const requestWords = Object.entries(request).map(
    ([name, value]) => `${name} ${shorten(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
  const at = `${begin.toFixed(1)} to ${end.toFixed(1)}${offset.some((each) => each !== 0) ? ` (clock ${offset.join(', ')})` : ''}`
  return `${at} ${node} ${shorten(caller)}: ${requestWords.join(', ')} → ${responseWords.join(', ')}`
}

/** Shortens a token to a part of its hash, which distinguishes two tokens and cannot be used. */
function shorten(text: string): string {
  return text.length <= 20 ? text : `#${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}
