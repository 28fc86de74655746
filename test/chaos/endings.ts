/** Which entries of a history ended a grant for certain, and which may have. */
import { type Entry, precedes } from './history.ts'
import { asking, type Lineage, redemptions, signaturesBehind } from './lineage.ts'

export type Rules = {
  /** seconds */
  codeLifetime: number
  refreshRetryWindow(client: string): number
  /** clients for which the wallet must have signed a consent (`--consent signed`) */
  signed: ReadonlySet<string>
  /** for how many milliseconds a request without an answer may go on being worked on */
  settling: number
}

/** Whole seconds on both sides, and the time between a clock being read and its use. */
const MARGIN_SECONDS = 2

/** Whether `later` was over in less than `seconds` after `first` began, on clocks that ran alike. */
export function surelyWithin(first: Entry, later: Entry, seconds: number): boolean {
  const offsets = new Set([...first.offset, ...later.offset])
  return offsets.size === 1 && (later.end - first.begin) / 1000 < seconds - MARGIN_SECONDS
}

/** Whether an access token had not expired by any clock of the node. */
export function surelyUnexpired(entry: Entry, expiresAt: number): boolean {
  return entry.end / 1000 + Math.max(...entry.offset) < expiresAt - MARGIN_SECONDS
}

/** The moment from which on a request changes nothing any more. */
export function settled(entry: Entry, { settling }: Rules): number {
  return entry.told.kind === 'lost' ? entry.end + settling : entry.end
}

/** After the end of each of these the grant is dead. */
export function acknowledgedEndings(lineage: Lineage, rules: Rules): Entry[] {
  const redeemed = redemptions(lineage).some(({ told }) => told.kind === 'tokens')
  return lineage.entries.filter((entry) => {
    const { asked, told, caller } = entry
    if (asked.op === 'end_app' || asked.op === 'end_everything') return told.kind === 'done' && precedes(lineage.issue, entry)
    if (caller !== lineage.client) return false
    if (asked.op === 'revoke') return told.kind === 'done' && lineage.successors.has(asked.token)
    // A second redemption of a code that was still good (RFC 6749 §4.1.2)
    if (asked.op === 'redeem')
      return told.kind === 'refused' && redeemed && surelyWithin(lineage.issue, entry, rules.codeLifetime)
    // A refresh token that came back after its successor was used
    return asked.op === 'refresh' && told.kind === 'refused' && successorUsedBefore(lineage, asked.token, entry)
  })
}

/** Whether the successor of a token was refreshed, and its client knew, before `entry` was sent. */
export function successorUsedBefore(lineage: Lineage, token: string, entry: Entry): boolean {
  const successors = [...(lineage.successors.get(token) ?? [])]
  return successors.some((next) =>
    asking(lineage, 'refresh', next).some((use) => use.told.kind === 'tokens' && precedes(use, entry)),
  )
}

/** Each of these may have ended the grant, from its beginning on. */
export function possibleEndings(lineage: Lineage, rules: Rules): Entry[] {
  const [firstRedemption] = redemptions(lineage)
  return lineage.entries.filter((entry) => {
    const { asked, caller } = entry
    if (asked.op === 'end_app' || asked.op === 'end_everything') return lineage.issue.begin < settled(entry, rules)
    if (asked.op === 'change_owner') return endedByItsOwner(lineage, entry, rules)
    if (caller !== lineage.client) return false
    if (asked.op === 'revoke') return lineage.successors.has(asked.token)
    if (asked.op === 'redeem') return entry !== firstRedemption
    if (asked.op !== 'refresh') return false
    const laterUses = descendants(lineage, asked.token).flatMap((next) => asking(lineage, 'refresh', next))
    if (laterUses.some((use) => use.begin < settled(entry, rules))) return true
    const others = asking(lineage, 'refresh', asked.token).filter(
      (other) => other !== entry && other.begin <= settled(entry, rules),
    )
    return others.some((other) => !surelyWithin(other, entry, rules.refreshRetryWindow(lineage.client)))
  })
}

/** Whether a change of owner may have ended what a code gave, or the code itself: somebody before signed what it rests on. */
export function endedByItsOwner(lineage: Lineage, change: Entry, { signed }: Rules): boolean {
  return signaturesBehind(lineage, signed).some((each) => each.begin < change.end)
}

function descendants(lineage: Lineage, token: string): string[] {
  const found = new Set<string>()
  let next = [token]
  while (next.length > 0) {
    next = next.flatMap((each) => [...(lineage.successors.get(each) ?? [])]).filter((each) => !found.has(each))
    for (const each of next) found.add(each)
  }
  return [...found]
}
