/** Finds the entries of a history that ended a grant for certain, and those that may have ended it. */
import { type Entry, precedes } from './history.ts'
import { type Lineage, redemptions, requestsFor, signaturesBehind } from './lineage.ts'

export type Rules = {
  /** seconds */
  codeLifetime: number
  refreshRetryWindow(client: string): number
  /** clients for which the wallet must have signed a consent (`--consent signed`) */
  signed: ReadonlySet<string>
  /** the newest receipts of a wallet at one client, among which a consent is found */
  receiptsRead: number
  /** milliseconds for which the service may still process a request that got no response */
  settling: number
}

/** For times in whole seconds, and for the time between the reading of a clock and its use. */
const MARGIN_SECONDS = 2

/** Whether `later` ended less than `seconds` after `first` began, on clocks with the same offset. */
export function certainlyWithin(first: Entry, later: Entry, seconds: number): boolean {
  const offsets = new Set([...first.offset, ...later.offset])
  return offsets.size === 1 && (later.end - first.begin) / 1000 < seconds - MARGIN_SECONDS
}

/** Whether an access token had not expired by any clock offset of the node. */
export function certainlyUnexpired(entry: Entry, expiresAt: number): boolean {
  return entry.end / 1000 + Math.max(...entry.offset) < expiresAt - MARGIN_SECONDS
}

/** The time after which a request changes nothing any more. */
export function settledAt(entry: Entry, { settling }: Rules): number {
  return entry.response.kind === 'lost' ? Math.max(entry.end + settling, entry.settled ?? 0) : entry.end
}

/** The entries after whose end the grant has certainly ended. */
export function acknowledgedEndings(lineage: Lineage, rules: Rules): Entry[] {
  const redeemed = redemptions(lineage).some(({ response }) => response.kind === 'tokens')
  return lineage.entries.filter((entry) => {
    const { request, response, caller } = entry
    if (request.op === 'end_app' || request.op === 'end_everything')
      return response.kind === 'done' && precedes(lineage.issue, entry)
    if (caller !== lineage.client) return false
    if (request.op === 'revoke') return response.kind === 'done' && lineage.successors.has(request.token)
    // A second redemption of a code that was still good (RFC 6749 §4.1.2)
    if (request.op === 'redeem')
      return response.kind === 'refused' && redeemed && certainlyWithin(lineage.issue, entry, rules.codeLifetime)
    // A refresh token that came back after its successor was used
    return request.op === 'refresh' && response.kind === 'refused' && successorUsedBefore(lineage, request.token, entry)
  })
}

/** Whether a refresh with the successor of a token had its response before `entry` was sent. */
export function successorUsedBefore(lineage: Lineage, token: string, entry: Entry): boolean {
  const successors = [...(lineage.successors.get(token) ?? [])]
  return successors.some((next) =>
    requestsFor(lineage, 'refresh', next).some((use) => use.response.kind === 'tokens' && precedes(use, entry)),
  )
}

/** The entries that may have ended the grant, from their beginning on. */
export function possibleEndings(lineage: Lineage, rules: Rules): Entry[] {
  const [firstRedemption] = redemptions(lineage)
  return lineage.entries.filter((entry) => {
    const { request, caller } = entry
    if (request.op === 'end_app' || request.op === 'end_everything') return lineage.issue.begin < settledAt(entry, rules)
    if (request.op === 'change_owner') return mayHaveEndedByTransfer(lineage, entry, rules)
    if (caller !== lineage.client) return false
    if (request.op === 'revoke') return lineage.successors.has(request.token)
    if (request.op === 'redeem') return entry !== firstRedemption
    if (request.op !== 'refresh') return false
    const laterUses = descendants(lineage, request.token).flatMap((next) => requestsFor(lineage, 'refresh', next))
    if (laterUses.some((use) => use.begin < settledAt(entry, rules))) return true
    const others = requestsFor(lineage, 'refresh', request.token).filter(
      (other) => other !== entry && other.begin <= settledAt(entry, rules),
    )
    return others.some((other) => !certainlyWithin(other, entry, rules.refreshRetryWindow(lineage.client)))
  })
}

/** Whether a transfer of the contract may have ended a code or its grant, because an earlier owner signed for them. */
export function mayHaveEndedByTransfer(lineage: Lineage, change: Entry, { signed }: Rules): boolean {
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
