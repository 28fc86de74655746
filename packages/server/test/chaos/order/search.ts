/**
 * Decides whether the operations of one grant are linearizable (Herlihy and Wing, 1990): whether there is one order of the operations that
 * the sequential specification permits, in which each operation takes effect between its request and its response. Pure.
 */
import type { Operation } from './operations.ts'
import { next, START, type State, type Step } from './specification.ts'

/** A possible past: the state, and the open operations that have taken effect. */
type Past = { state: State; done: readonly Operation[] }

/** Many more than any history needs. More than this at one moment count as a contradiction, so that the search ends. */
const MAX_PASTS = 100_000

/** The first operation whose response no order explains; null if the operations are linearizable. */
export function findContradiction(operations: readonly Operation[]): Operation | null {
  const numbers = new Map(operations.map((operation, index) => [operation, index]))
  const keyOf = ({ state, done }: Past): string =>
    JSON.stringify([state, done.map((operation) => numbers.get(operation) ?? 0).sort((a, b) => a - b)])
  let open: Operation[] = []
  let pasts: Past[] = [{ state: START, done: [] }]
  for (const { operation, isEnd } of momentsOf(operations)) {
    if (!isEnd) {
      open.push(operation)
      continue
    }
    pasts = takeEffect(pasts, operation, open, keyOf)
    if (pasts.length === 0) return operation
    open = open.filter((each) => each !== operation)
  }
  return null
}

/** The beginnings and ends in their order. At the same time, beginnings come first: the operations then overlap. */
function momentsOf(operations: readonly Operation[]): { operation: Operation; isEnd: boolean }[] {
  return operations
    .flatMap((operation) => [
      { at: operation.begin, operation, isEnd: false },
      ...(operation.end === Number.POSITIVE_INFINITY ? [] : [{ at: operation.end, operation, isEnd: true }]),
    ])
    .sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd))
}

/** The pasts at the end of `last`, in which it has taken effect. Any open operations may have taken effect before it. */
function takeEffect(pasts: readonly Past[], last: Operation, open: readonly Operation[], keyOf: (past: Past) => string): Past[] {
  const found = new Map<string, Past>()
  const seen = new Set<string>()
  const unvisited = [...pasts]
  for (let past = unvisited.pop(); past; past = unvisited.pop()) {
    const reached = withoutChoice(past, open)
    const key = keyOf(reached)
    if (seen.has(key)) continue
    seen.add(key)
    if (seen.size > MAX_PASTS) return []
    if (reached.done.includes(last) || isUnknown(last)) {
      const rest = { ...reached, done: reached.done.filter((each) => each !== last) }
      found.set(keyOf(rest), rest)
    }
    if (reached.done.includes(last)) continue
    for (const operation of open) {
      if (reached.done.includes(operation)) continue
      for (const state of next(reached.state, operation.step)) {
        // An operation that never takes effect is left out.
        if (isUnknown(operation) && state === reached.state) continue
        unvisited.push({ state, done: [...reached.done, operation] })
      }
    }
  }
  return [...found.values()]
}

/**
 * Lets every operation take effect now that changes nothing now. Such an operation changes nothing later either, because the states of a
 * grant never return: so this loses no order. Before the code is issued, an ending is an exception.
 */
function withoutChoice({ state, done }: Past, open: readonly Operation[]): Past {
  if (state.phase === 'none') return { state, done }
  const idle = open.filter((operation) => {
    if (isUnknown(operation) || done.includes(operation)) return false
    const states = next(state, operation.step)
    return states.length === 1 && states[0] === state
  })
  // After the end, it is irrelevant which lost requests took effect.
  const kept = state.phase === 'ended' ? done.filter((operation) => !isUnknown(operation)) : done
  return { state, done: [...kept, ...idle] }
}

const isUnknown = ({ step }: Operation): boolean => 'outcome' in step && step.outcome === 'unknown'

/**
 * Replaces equal operations by at most two, which have the same answer to the question of this file.
 *
 * The moments at which such an operation can take effect form one interval from p to q. The first of them may cause p itself, and the others
 * change nothing. All of them have such a moment exactly if p is not after the earliest end, and q is not before the latest beginning. The two operations
 * that are kept state this: one from the earliest beginning to the earliest end, and the one that began last.
 */
export function reduce(operations: readonly Operation[]): Operation[] {
  const issued = operations.find(({ step }) => step.op === 'issue')
  return [...Map.groupBy(operations, groupOf).values()].flatMap((group) => {
    const [first] = group
    if (!first || !issued) return group
    if (isUnknown(first)) return reduceUnknown(group)
    if (group.length <= 2) return group
    // An ending that may precede the code is an exception.
    if (group.some(({ begin }) => begin <= issued.end)) return group
    const earliest = group.reduce((one, other) => (other.end < one.end ? other : one))
    const last = group.reduce((one, other) => (other.begin > one.begin ? other : one))
    return [{ ...earliest, begin: Math.min(...group.map(({ begin }) => begin)) }, last]
  })
}

const groupOf = ({ step }: Operation): string => JSON.stringify(step)

/**
 * Of equal requests that may take effect at any later time, the first two are kept: one may change the token, and another end the grant.
 * Endings that overlap become one, because one of them is enough to end the grant at any moment of their time.
 */
function reduceUnknown(group: readonly Operation[]): Operation[] {
  const byBegin = group.toSorted((a, b) => a.begin - b.begin)
  const lasting = byBegin.filter(({ end }) => end === Number.POSITIVE_INFINITY)
  if (byBegin[0]?.step.op !== 'end')
    return [...lasting.slice(0, 2), ...byBegin.filter(({ end }) => end !== Number.POSITIVE_INFINITY)]
  const merged: Operation[] = []
  for (const operation of byBegin) {
    const before = merged.at(-1)
    if (before && before.end >= operation.begin)
      merged[merged.length - 1] = { ...before, end: Math.max(before.end, operation.end) }
    else merged.push(operation)
  }
  return merged
}

/**
 * Whether an order explains the history, or does so if one request changed the grant and was refused all the same: the node
 * lost the result of the change, another request ended the grant, and the repeated statement found the ended grant.
 */
export function isExplained(operations: readonly Operation[]): boolean {
  if (findContradiction(reduce(operations)) === null) return true
  return operations.some((refused) => {
    if (!('outcome' in refused.step) || refused.step.outcome !== 'refused') return false
    const others = operations.filter((each) => each !== refused)
    const change = { ...refused, step: { ...refused.step, outcome: 'unknown' } as Step }
    const found = { ...refused, step: { op: 'introspect', token: '', outcome: 'inactive' } as Step }
    return findContradiction(reduce([...others, change, found])) === null
  })
}
