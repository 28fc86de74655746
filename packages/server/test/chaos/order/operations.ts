/** Converts a recorded history to one history of operations for each grant. Pure. */
import { certainlyUnexpired, certainlyWithin, mayHaveEndedByTransfer, type Rules, settledAt } from '../endings.ts'
import type { Entry } from '../history.ts'
import { isEntitled, type Lineage, sortByCode } from '../lineage.ts'
import type { Step } from './specification.ts'

/** The operation takes effect at one moment between `begin` and `end`, or if its outcome is unknown, perhaps never. */
export type Operation = { begin: number; end: number; step: Step; entry: Entry }

export type GrantHistory = {
  operations: Operation[]
  /** the number of entries about the grant */
  entries: number
}

/**
 * The history of each grant. Grants are independent: a history is linearizable if the history of each grant is (Herlihy and Wing, locality).
 * An ending of several grants takes effect for each grant at a moment of its own.
 */
export function historiesOfGrants(history: readonly Entry[], rules: Rules): GrantHistory[] {
  const { lineages } = sortByCode(history)
  const voiding = Map.groupBy(
    history.flatMap((entry) =>
      entry.request.op === 'sign_out' || entry.request.op === 'end_others' ? [{ entry, wallet: entry.request.wallet }] : [],
    ),
    ({ wallet }) => wallet,
  )
  return lineages.map((lineage) => {
    const entries = [...lineage.entries, ...(voiding.get(lineage.wallet) ?? []).map(({ entry }) => entry)].filter(
      // A transfer of the contract before the code still matters, if an earlier owner signed for the code.
      (entry) => entry.request.op === 'change_owner' || settledAt(entry, rules) >= lineage.issue.begin,
    )
    const retries = Map.groupBy(
      lineage.entries.filter((entry) => entry.request.op === 'refresh' && isEntitled(lineage, entry)),
      ({ request }) => ('token' in request ? request.token : ''),
    )
    const operations = entries.flatMap((entry): Operation[] => {
      const step = stepOf(entry, lineage, retries, rules)
      return step ? [{ begin: entry.begin, end: endOf(entry, step), step, entry }] : []
    })
    const { issue } = lineage
    return {
      operations: [{ begin: issue.begin, end: issue.end, step: { op: 'issue' }, entry: issue }, ...operations],
      entries: entries.length + 1,
    }
  })
}

/** A request without a response may take effect until the run has seen that every statement ended, or at any later time. */
function endOf({ end, request, response, settled }: Entry, step: Step): number {
  if (!('outcome' in step) || step.outcome !== 'unknown') return end
  if (request.op === 'change_owner') return Number.POSITIVE_INFINITY
  return response.kind === 'lost' || response.kind === 'unexpected' ? (settled ?? Number.POSITIVE_INFINITY) : end
}

type Retries = ReadonlyMap<string, readonly Entry[]>

/** Null if the entry says nothing about the grant. */
function stepOf(entry: Entry, lineage: Lineage, retries: Retries, rules: Rules): Step | null {
  const { op } = entry.request
  if (op === 'end_app' || op === 'end_everything') return { op: 'end', outcome: doneOrUnknown(entry) }
  if (op === 'sign_out' || op === 'end_others') return { op: 'void', outcome: doneOrUnknown(entry) }
  // A refresh ends the grant after the next check of the chain. check-owners.ts decides when it must.
  if (op === 'change_owner') return mayHaveEndedByTransfer(lineage, entry, rules) ? { op: 'end', outcome: 'unknown' } : null
  return isEntitled(lineage, entry) ? stepOfClient(entry, lineage, retries, rules) : null
}

function stepOfClient(entry: Entry, lineage: Lineage, retries: Retries, rules: Rules): Step | null {
  const { request, response } = entry
  if (request.op === 'redeem') {
    if (response.kind === 'tokens') return { op: 'redeem', outcome: 'tokens', successor: response.refresh }
    if (response.kind !== 'refused') return { op: 'redeem', outcome: 'unknown' }
    // A code that may have expired is refused in any state. If the code was used and has not expired, the grant ends.
    const mayHaveExpired = !certainlyWithin(lineage.issue, entry, rules.codeLifetime)
    return mayHaveExpired ? { op: 'end', outcome: 'unknown' } : { op: 'redeem', outcome: 'refused' }
  }
  if (request.op === 'refresh') {
    const { op, token } = request
    if (response.kind === 'tokens') return { op, token, outcome: 'tokens', successor: response.refresh }
    const outcome = response.kind === 'refused' ? 'refused' : 'unknown'
    return { op, token, outcome, isLate: mayBeLate(entry, lineage, retries.get(token) ?? [], rules) }
  }
  if (request.op === 'introspect') return introspection(entry, request.token, lineage)
  if (request.op !== 'revoke') return null
  const outcome = doneOrUnknown(entry)
  return lineage.successors.has(request.token) ? { op: 'end', outcome } : { op: 'revoke', token: request.token, outcome }
}

const doneOrUnknown = ({ response }: Entry): 'done' | 'unknown' =>
  response.kind === 'done' && !response.already ? 'done' : 'unknown'

/** Whether another refresh with the token may have rotated it longer ago than the retry window. */
function mayBeLate(entry: Entry, { client }: Lineage, ofToken: readonly Entry[], rules: Rules): boolean {
  const last = { ...entry, end: settledAt(entry, rules) }
  return ofToken.some(
    (other) => other !== entry && other.begin <= last.end && !certainlyWithin(other, last, rules.refreshRetryWindow(client)),
  )
}

/** An access token that may have expired is inactive for no other reason. */
function introspection(entry: Entry, token: string, { access }: Lineage): Step | null {
  const { kind } = entry.response
  const issued = access.get(token)
  if (!issued || (kind !== 'active' && kind !== 'inactive')) return null
  if (kind === 'inactive' && !certainlyUnexpired(entry, issued.expiresAt)) return null
  return { op: 'introspect', token, outcome: kind }
}
