/**
 * Checks the history of each grant for linearizability: whether one order of the requests explains all responses, also of requests that
 * overlapped. docs/evidence/model.md explains how.
 */
import type { Rules } from '../endings.ts'
import type { Entry, Violation } from '../history.ts'
import { type GrantHistory, historiesOfGrants, type Operation } from './operations.ts'
import { findContradiction, isExplained, reduce } from './search.ts'

export type OrderCheck = {
  grants: number
  /** the number of requests about these grants. A request about several grants counts for each of them. */
  operations: number
  seconds: number
  violations: Violation[]
}

export function checkOrder(history: readonly Entry[], rules: Rules): OrderCheck {
  const begin = performance.now()
  const histories = historiesOfGrants(history, rules)
  const violations = histories.filter(({ operations }) => !isExplained(operations)).map(violationOf)
  return {
    grants: histories.length,
    operations: histories.reduce((sum, { entries }) => sum + entries, 0),
    seconds: (performance.now() - begin) / 1000,
    violations,
  }
}

/** The number of earlier entries in a report. */
const MAX_ENTRIES_BEFORE = 10

function violationOf({ operations }: GrantHistory): Violation {
  const last = (findContradiction(reduce(operations)) as Operation).entry
  const before = operations
    .map(({ entry }) => entry)
    .filter((entry) => entry !== last && entry.begin <= last.end)
    .sort((a, b) => a.begin - b.begin)
  return { invariant: 'I7', words: 'no order explains the responses', entries: [...before.slice(-MAX_ENTRIES_BEFORE), last] }
}
