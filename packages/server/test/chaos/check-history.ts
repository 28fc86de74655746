/**
 * Checks a history against eight invariants, and returns the entries that violate them. Pure: it uses only the requests and responses
 * of clients, and nothing from inside the service.
 *
 * I1: a code yields at most one living grant. I2: a grant has at most one valid refresh token, and identical retries get the
 * identical successor. I3: after an acknowledged ending no token is active and no refresh succeeds. I4: what was acknowledged
 * survives. I5: an unacknowledged change is either complete or absent, and the client can continue. I6: no response mixes two wallets
 * or two clients. I8: an approval is used at most once, if the wallet signed it (check-approvals.ts). I9: no more is drawn than the
 * wallet signed (check-draws.ts). I7 is decided in ./order.
 */
import { consentViolations, sessionViolations } from './check-account.ts'
import { approvalViolations } from './check-approvals.ts'
import { drawViolations } from './check-draws.ts'
import { formerOwnerViolations } from './check-owners.ts'
import {
  acknowledgedEndings,
  certainlyUnexpired,
  certainlyWithin,
  mayHaveEndedByTransfer,
  possibleEndings,
  type Rules,
  settledAt,
  successorUsedBefore,
} from './endings.ts'
import { type Entry, precedes, type RecordedRequest, type Violation } from './history.ts'
import { isEntitled, type Lineage, ownerChanges, redemptions, requestsFor, sortByCode } from './lineage.ts'

export type { Rules } from './endings.ts'

export function checkHistory(history: readonly Entry[], rules: Rules): Violation[] {
  const { lineages, mixed } = sortByCode(history)
  return [
    ...history
      .filter(({ response }) => response.kind === 'unexpected')
      .map(
        (entry): Violation => ({
          invariant: 'defect',
          words: 'a response that such a request must not get',
          entries: [entry],
        }),
      ),
    ...mixed.map(
      ({ entry, with: other }): Violation => ({
        invariant: 'I6',
        words: 'two codes gave the same token',
        entries: [other, entry],
      }),
    ),
    ...sharedGrants(lineages),
    ...sessionViolations(history, rules),
    ...consentViolations(history, rules),
    ...codeViolations(lineages, history, rules),
    ...partialEndings(lineages, history, rules),
    ...formerOwnerViolations(lineages, history, rules),
    ...approvalViolations(lineages, history, rules),
    ...drawViolations(lineages, history, rules),
    ...lineages.flatMap((lineage) => [
      ...forkedGrants(lineage),
      ...forkedLeaves(lineage),
      ...aliveAfterEnding(lineage, rules),
      ...revivedGrants(lineage),
      ...lostGrants(lineage, rules),
      ...mixedAnswers(lineage),
    ]),
  ]
}

const isAlive = ({ response }: Entry): boolean => response.kind === 'tokens' || response.kind === 'active'

/** I1 */
function forkedGrants(lineage: Lineage): Violation[] {
  const redemptionsWithTokens = lineage.entries.filter(
    ({ request, response }) => request.op === 'redeem' && response.kind === 'tokens',
  )
  return redemptionsWithTokens.length > 1
    ? [{ invariant: 'I1', words: 'a code was redeemed more than once', entries: redemptionsWithTokens }]
    : []
}

/** I2 */
function forkedLeaves(lineage: Lineage): Violation[] {
  const violations: Violation[] = []
  for (const [token, successors] of lineage.successors) {
    const rotations = requestsFor(lineage, 'refresh', token).filter(({ response }) => response.kind === 'tokens')
    if (successors.size > 1)
      violations.push({ invariant: 'I2', words: 'retries of one refresh got different successors', entries: rotations })
    for (const rotation of rotations) {
      if (successorUsedBefore(lineage, token, rotation))
        violations.push({ invariant: 'I2', words: 'a refresh token worked after its successor was used', entries: [rotation] })
    }
  }
  return violations
}

/** I3: endings of a grant, and revocations of a single access token. */
function aliveAfterEnding(lineage: Lineage, rules: Rules): Violation[] {
  const ofGrant = acknowledgedEndings(lineage, rules).flatMap((ending) =>
    lineage.entries.filter((entry) => isAlive(entry) && precedes(ending, entry)).map((entry) => [ending, entry]),
  )
  const ofToken = [...lineage.access.keys()].flatMap((token) =>
    requestsFor(lineage, 'revoke', token)
      .filter(({ response }) => response.kind === 'done')
      .flatMap((ending) =>
        requestsFor(lineage, 'introspect', token)
          .filter((entry) => isAlive(entry) && precedes(ending, entry))
          .map((entry) => [ending, entry]),
      ),
  )
  return [...ofGrant, ...ofToken].map((entries) => ({
    invariant: 'I3',
    words: 'active or refreshed after an acknowledged ending',
    entries,
  }))
}

/** Whether a response shows that the whole grant has ended. */
function showsEnded(lineage: Lineage, entry: Entry): boolean {
  const { request, response } = entry
  if (!isEntitled(lineage, entry)) return false
  if (request.op === 'refresh') return response.kind === 'refused'
  if (request.op !== 'introspect' || response.kind !== 'inactive') return false
  const token = lineage.access.get(request.token)
  if (!token || !certainlyUnexpired(entry, token.expiresAt)) return false
  return !requestsFor(lineage, 'revoke', request.token).some((revocation) => revocation.begin < entry.end)
}

/** I5: an unacknowledged ending is complete or absent. A grant that has ended does not become active again. */
function revivedGrants(lineage: Lineage): Violation[] {
  const dead = lineage.entries.find((entry) => showsEnded(lineage, entry))
  const alive = dead && lineage.entries.find((entry) => isAlive(entry) && precedes(dead, entry))
  return alive ? [{ invariant: 'I5', words: 'a grant had ended, and was active again', entries: [dead, alive] }] : []
}

/** I4 and I5: a grant has ended although no request that could have ended it was sent before. */
function lostGrants(lineage: Lineage, rules: Rules): Violation[] {
  const endings = possibleEndings(lineage, rules)
  const firstPossible = Math.min(...endings.map(({ begin }) => begin))
  const dead = lineage.entries.find((entry) => showsEnded(lineage, entry) && entry.end <= firstPossible)
  if (!dead) return []
  const retried =
    dead.request.op === 'refresh'
      ? requestsFor(lineage, 'refresh', dead.request.token).filter((other) => other !== dead && other.begin < dead.end)
      : []
  return retried.length > 0
    ? [{ invariant: 'I5', words: 'a refresh could not be retried within the window', entries: [...retried, dead] }]
    : [{ invariant: 'I4', words: 'an acknowledged grant has ended, and no request ended it', entries: [lineage.issue, dead] }]
}

/**
 * I3 and I4: a code is valid until it is used or expires, or until its wallet ends something. An ending raises the epoch of the
 * wallet, which voids the codes for every app.
 */
function codeViolations(lineages: Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const endings = Map.groupBy(
    history.flatMap((entry) => (raisesEpoch(entry) ? [{ entry, wallet: entry.request.wallet }] : [])),
    ({ wallet }) => wallet,
  )
  return lineages.flatMap((lineage): Violation[] => {
    const raising = (endings.get(lineage.wallet) ?? []).map(({ entry }) => entry)
    const [first] = redemptions(lineage)
    if (first?.response.kind === 'tokens') {
      const before = raising.find(
        (each) => each.response.kind === 'done' && precedes(lineage.issue, each) && precedes(each, first),
      )
      return before
        ? [{ invariant: 'I3', words: 'a code from before an ending was accepted', entries: [lineage.issue, before, first] }]
        : []
    }
    if (first?.response.kind !== 'refused' || !certainlyWithin(lineage.issue, first, rules.codeLifetime)) return []
    const used = redemptions(lineage).some((other) => other !== first && other.begin < first.end)
    const raised = raising.some(
      (each) => each.begin < first.end && Math.max(each.end + rules.settling, settledAt(each, rules)) > lineage.issue.begin,
    )
    const changed = ownerChanges(lineage).some((each) => each.begin < first.end && mayHaveEndedByTransfer(lineage, each, rules))
    return used || raised || changed
      ? []
      : [{ invariant: 'I4', words: 'a valid code was refused', entries: [lineage.issue, first] }]
  })
}

type Raising = Entry & { request: Extract<RecordedRequest, { op: 'end_app' | 'sign_out' | 'end_others' | 'end_everything' }> }

/** Whether the request raises the epoch of its wallet if it takes effect. */
function raisesEpoch(entry: Entry): entry is Raising {
  if (entry.response.kind === 'done' && entry.response.already) return false
  return ['end_app', 'sign_out', 'end_others', 'end_everything'].includes(entry.request.op)
}

/** I5: an unacknowledged ending of an app, or of everything, ended all of its grants or none. */
function partialEndings(lineages: Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const lost = history.filter(({ request, response }) => /^end_(app|everything)$/.test(request.op) && response.kind === 'lost')
  return lost.flatMap((ending): Violation[] => {
    const { wallet, client } = ending.request as { wallet: string; client?: string }
    const had = lineages.filter(
      (each) =>
        each.wallet === wallet &&
        (client === undefined || each.client === client) &&
        redemptions(each).some((one) => one.response.kind === 'tokens' && precedes(one, ending)),
    )
    const ended = had.flatMap((each) => {
      const others = possibleEndings(each, rules).filter((other) => other !== ending)
      const dead = each.entries.find((entry) => showsEnded(each, entry) && precedes(ending, entry))
      return dead && !others.some((other) => other.begin < dead.end) ? [dead] : []
    })
    const [first] = ended.sort((a, b) => a.end - b.end)
    const alive = first && had.flatMap(({ entries }) => entries).find((entry) => isAlive(entry) && precedes(first, entry))
    return alive
      ? [{ invariant: 'I5', words: 'an ending took effect for a part of its grants', entries: [ending, first, alive] }]
      : []
  })
}

/** I6: two codes must not share a grant. */
function sharedGrants(lineages: Lineage[]): Violation[] {
  const first = new Map<string, Lineage>()
  return lineages.flatMap((lineage): Violation[] =>
    [...new Set([...lineage.access.values()].map(({ grantId }) => grantId))].flatMap((grantId) => {
      const other = first.get(grantId)
      first.set(grantId, other ?? lineage)
      return other ? [{ invariant: 'I6', words: 'two codes share one grant', entries: [other.issue, lineage.issue] }] : []
    }),
  )
}

/** I6: the responses that belong to one code must have one wallet, one client and one grant. */
function mixedAnswers(lineage: Lineage): Violation[] {
  const wrong = lineage.entries.filter((entry) => {
    const { response } = entry
    if (response.kind !== 'tokens' && response.kind !== 'active') return false
    return !isEntitled(lineage, entry) || response.sub !== lineage.wallet || response.clientId !== lineage.client
  })
  const grants = new Set([...lineage.access.values()].map(({ grantId }) => grantId))
  return [
    ...wrong.map(
      (entry): Violation => ({
        invariant: 'I6',
        words: 'a response about another wallet or to another client',
        entries: [lineage.issue, entry],
      }),
    ),
    ...(grants.size > 1
      ? [{ invariant: 'I6' as const, words: 'the tokens of one code name several grants', entries: [lineage.issue] }]
      : []),
  ]
}
