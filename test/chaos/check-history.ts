/**
 * Proves six invariants of a history, or names the entries that break them. Pure: it knows what clients sent and what
 * they were told, and nothing of the service.
 *
 * I1 a code yields at most one living grant. I2 a grant has at most one live refresh leaf; identical retries get the
 * identical successor. I3 after an acknowledged ending nothing is active and no refresh works. I4 what was acknowledged
 * survives. I5 what was not acknowledged is wholly there or wholly not, and the client can go on. I6 no answer mixes
 * two wallets or clients.
 */
import { consentsOutOfPlace, sessionsOutOfPlace } from './check-account.ts'
import { formerOwnersServed } from './check-owners.ts'
import {
  acknowledgedEndings,
  endedByItsOwner,
  possibleEndings,
  type Rules,
  successorUsedBefore,
  surelyUnexpired,
  surelyWithin,
} from './endings.ts'
import { type Asked, type Entry, precedes } from './history.ts'
import { asking, isEntitled, type Lineage, ownerChanges, redemptions, sortByCode } from './lineage.ts'

export type { Rules } from './endings.ts'

export type Violation = {
  invariant: 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'defect'
  words: string
  /** what it follows from, the breaking answer last */
  entries: Entry[]
}

export function checkHistory(history: readonly Entry[], rules: Rules): Violation[] {
  const { lineages, mixed } = sortByCode(history)
  return [
    ...history
      .filter(({ told }) => told.kind === 'unexpected')
      .map(
        (entry): Violation => ({
          invariant: 'defect',
          words: 'an answer that no such request may get',
          entries: [entry],
        }),
      ),
    ...mixed.map(
      ({ entry, with: other }): Violation => ({
        invariant: 'I6',
        words: 'one token was told for two codes',
        entries: [other, entry],
      }),
    ),
    ...sharedGrants(lineages),
    ...sessionsOutOfPlace(history, rules),
    ...consentsOutOfPlace(history, rules),
    ...codesOutOfPlace(lineages, history, rules),
    ...halfEndedApps(lineages, history, rules),
    ...formerOwnersServed(lineages, history, rules),
    ...lineages.flatMap((lineage) => [
      ...forkedGrants(lineage),
      ...forkedLeaves(lineage),
      ...aliveAfterEnding(lineage, rules),
      ...cameBack(lineage),
      ...lostGrants(lineage, rules),
      ...mixedAnswers(lineage),
    ]),
  ]
}

const isAlive = ({ told }: Entry): boolean => told.kind === 'tokens' || told.kind === 'active'

/** I1 */
function forkedGrants(lineage: Lineage): Violation[] {
  const given = lineage.entries.filter(({ asked, told }) => asked.op === 'redeem' && told.kind === 'tokens')
  return given.length > 1 ? [{ invariant: 'I1', words: 'a code was redeemed more than once', entries: given }] : []
}

/** I2 */
function forkedLeaves(lineage: Lineage): Violation[] {
  const violations: Violation[] = []
  for (const [token, successors] of lineage.successors) {
    const rotations = asking(lineage, 'refresh', token).filter(({ told }) => told.kind === 'tokens')
    if (successors.size > 1)
      violations.push({ invariant: 'I2', words: 'retries of one refresh got different successors', entries: rotations })
    for (const rotation of rotations) {
      if (successorUsedBefore(lineage, token, rotation))
        violations.push({ invariant: 'I2', words: 'a refresh token lived on after its successor was used', entries: [rotation] })
    }
  }
  return violations
}

/** I3: of a grant, and of an access token that was revoked alone. */
function aliveAfterEnding(lineage: Lineage, rules: Rules): Violation[] {
  const ofGrant = acknowledgedEndings(lineage, rules).flatMap((ending) =>
    lineage.entries.filter((entry) => isAlive(entry) && precedes(ending, entry)).map((entry) => [ending, entry]),
  )
  const ofToken = [...lineage.access.keys()].flatMap((token) =>
    asking(lineage, 'revoke', token)
      .filter(({ told }) => told.kind === 'done')
      .flatMap((ending) =>
        asking(lineage, 'introspect', token)
          .filter((entry) => isAlive(entry) && precedes(ending, entry))
          .map((entry) => [ending, entry]),
      ),
  )
  return [...ofGrant, ...ofToken].map((entries) => ({ invariant: 'I3', words: 'alive after an acknowledged ending', entries }))
}

/** Whether an answer says that the whole grant is dead. */
function saysDead(lineage: Lineage, entry: Entry): boolean {
  const { asked, told } = entry
  if (!isEntitled(lineage, entry)) return false
  if (asked.op === 'refresh') return told.kind === 'refused'
  if (asked.op !== 'introspect' || told.kind !== 'inactive') return false
  const token = lineage.access.get(asked.token)
  if (!token || !surelyUnexpired(entry, token.expiresAt)) return false
  return !asking(lineage, 'revoke', asked.token).some((revocation) => revocation.begin < entry.end)
}

/** I5: an ending of which nobody was told is there or not, and never comes and goes. */
function cameBack(lineage: Lineage): Violation[] {
  const dead = lineage.entries.find((entry) => saysDead(lineage, entry))
  const alive = dead && lineage.entries.find((entry) => isAlive(entry) && precedes(dead, entry))
  return alive ? [{ invariant: 'I5', words: 'a grant was dead, and lived again', entries: [dead, alive] }] : []
}

/** I4 and I5: nothing that could have ended the grant was even asked for, and yet it is dead. */
function lostGrants(lineage: Lineage, rules: Rules): Violation[] {
  const endings = possibleEndings(lineage, rules)
  const firstPossible = Math.min(...endings.map(({ begin }) => begin))
  const dead = lineage.entries.find((entry) => saysDead(lineage, entry) && entry.end <= firstPossible)
  if (!dead) return []
  const retried =
    dead.asked.op === 'refresh'
      ? asking(lineage, 'refresh', dead.asked.token).filter((other) => other !== dead && other.begin < dead.end)
      : []
  return retried.length > 0
    ? [{ invariant: 'I5', words: 'a refresh could not be retried within the window', entries: [...retried, dead] }]
    : [{ invariant: 'I4', words: 'an acknowledged grant is dead, and nothing ended it', entries: [lineage.issue, dead] }]
}

/**
 * I3 and I4: a code is good until it is used, expires, or its wallet ends something. An ending raises the epoch of the
 * wallet, so it voids the codes for every app.
 */
function codesOutOfPlace(lineages: Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const endings = Map.groupBy(
    history.flatMap((entry) => (raisesEpoch(entry) ? [{ entry, wallet: entry.asked.wallet }] : [])),
    ({ wallet }) => wallet,
  )
  return lineages.flatMap((lineage): Violation[] => {
    const raising = (endings.get(lineage.wallet) ?? []).map(({ entry }) => entry)
    const [first] = redemptions(lineage)
    if (first?.told.kind === 'tokens') {
      const before = raising.find((each) => each.told.kind === 'done' && precedes(lineage.issue, each) && precedes(each, first))
      return before
        ? [{ invariant: 'I3', words: 'a code from before an ending was good', entries: [lineage.issue, before, first] }]
        : []
    }
    if (first?.told.kind !== 'refused' || !surelyWithin(lineage.issue, first, rules.codeLifetime)) return []
    const used = redemptions(lineage).some((other) => other !== first && other.begin < first.end)
    const raised = raising.some((each) => each.begin < first.end && each.end + rules.settling > lineage.issue.begin)
    const changed = ownerChanges(lineage).some((each) => each.begin < first.end && endedByItsOwner(lineage, each, rules))
    return used || raised || changed
      ? []
      : [{ invariant: 'I4', words: 'a good code was refused', entries: [lineage.issue, first] }]
  })
}

type Raising = Entry & { asked: Extract<Asked, { op: 'end_app' | 'sign_out' | 'end_others' | 'end_everything' }> }

/** Whether it raises its wallet's epoch, if it was done. */
function raisesEpoch(entry: Entry): entry is Raising {
  if (entry.told.kind === 'done' && entry.told.already) return false
  return ['end_app', 'sign_out', 'end_others', 'end_everything'].includes(entry.asked.op)
}

/** I5: an ending of an app, or of everything, without an answer ended all of its grants or none. */
function halfEndedApps(lineages: Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const lost = history.filter(({ asked, told }) => /^end_(app|everything)$/.test(asked.op) && told.kind === 'lost')
  return lost.flatMap((ending): Violation[] => {
    const { wallet, client } = ending.asked as { wallet: string; client?: string }
    const had = lineages.filter(
      (each) =>
        each.wallet === wallet &&
        (client === undefined || each.client === client) &&
        redemptions(each).some((one) => one.told.kind === 'tokens' && precedes(one, ending)),
    )
    const ended = had.flatMap((each) => {
      const others = possibleEndings(each, rules).filter((other) => other !== ending)
      const dead = each.entries.find((entry) => saysDead(each, entry) && precedes(ending, entry))
      return dead && !others.some((other) => other.begin < dead.end) ? [dead] : []
    })
    const [first] = ended.sort((a, b) => a.end - b.end)
    const alive = first && had.flatMap(({ entries }) => entries).find((entry) => isAlive(entry) && precedes(first, entry))
    return alive ? [{ invariant: 'I5', words: 'an ending was half done', entries: [ending, first, alive] }] : []
  })
}

/** I6: between two codes. */
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

/** I6: within what belongs to one code. */
function mixedAnswers(lineage: Lineage): Violation[] {
  const wrong = lineage.entries.filter((entry) => {
    const { told } = entry
    if (told.kind !== 'tokens' && told.kind !== 'active') return false
    return !isEntitled(lineage, entry) || told.sub !== lineage.wallet || told.clientId !== lineage.client
  })
  const grants = new Set([...lineage.access.values()].map(({ grantId }) => grantId))
  return [
    ...wrong.map(
      (entry): Violation => ({
        invariant: 'I6',
        words: 'an answer about another wallet or to another client',
        entries: [lineage.issue, entry],
      }),
    ),
    ...(grants.size > 1
      ? [{ invariant: 'I6' as const, words: 'the tokens of one code name several grants', entries: [lineage.issue] }]
      : []),
  ]
}
