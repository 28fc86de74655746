/**
 * The part of the checker for approvals. Pure.
 *
 * I3: an approval is neither asked for nor used after an acknowledged ending of its grant. I4: an answer and a use that were acknowledged are kept. I5: a
 * use without a response can be repeated. I6: only the API that asked uses the approval, with a signature of the wallet of the grant, for this action.
 * I8: an action that the wallet signed is done once, by one attempt, which gets the same answer each time; an action that it did not sign is not done.
 */
import { acknowledgedEndings, certainlyWithin, possibleEndings, type Rules } from './endings.ts'
import { type Entry, precedes, RESOURCE_SERVER, type Violation } from './history.ts'
import { type Lineage, requestsFor } from './lineage.ts'

type Asked = {
  key: string
  lineage: Lineage
  /** the first request for the approval that got a response */
  ask: Entry
  /** what the user answered, and the uses by the API that asked, ordered by their beginning */
  answers: Entry[]
  uses: Use[]
  /** what other callers tried */
  usesOfOthers: Use[]
}
type Use = Entry & { attempt: string }

export function approvalViolations(lineages: readonly Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const { approvals, mixed } = sortByApproval(lineages, history)
  return [
    ...mixed,
    ...lineages.flatMap((lineage) => askedAfterEnding(lineage, rules)),
    ...approvals.flatMap((approval) => [
      ...usedTwice(approval),
      ...usedWithoutSignature(approval),
      ...usedAfterEnding(approval, rules),
      ...lostAnswers(approval, rules),
      ...lostUses(approval),
      ...mixedUses(approval),
    ]),
  ]
}

/** `mixed`: one action got two approvals, or two actions got one. */
function sortByApproval(lineages: readonly Lineage[], history: readonly Entry[]): { approvals: Asked[]; mixed: Violation[] } {
  const ofToken = new Map(lineages.flatMap((lineage) => [...lineage.access.keys()].map((token) => [token, lineage] as const)))
  const byId = new Map<string, Asked>()
  const byKey = new Map<string, Asked>()
  const mixed: Violation[] = []
  const ordered = [...history].sort((a, b) => a.begin - b.begin)
  for (const entry of ordered) {
    const { request, response } = entry
    const lineage = request.op === 'ask' ? ofToken.get(request.token) : undefined
    if (request.op !== 'ask' || response.kind !== 'asked' || !lineage) continue
    const present = byId.get(response.approval) ?? byKey.get(request.key)
    if (present && (present !== byId.get(response.approval) || present !== byKey.get(request.key)))
      mixed.push({ invariant: 'I8', words: 'an action and its approval do not belong together', entries: [present.ask, entry] })
    if (present) continue
    const approval = { key: request.key, lineage, ask: entry, answers: [], uses: [], usesOfOthers: [] }
    byId.set(response.approval, approval)
    byKey.set(request.key, approval)
  }
  for (const entry of ordered) {
    const { request, caller } = entry
    if (request.op === 'sign' || request.op === 'decline') byId.get(request.approval)?.answers.push(entry)
    if (request.op !== 'use') continue
    const uses = byId.get(request.approval)?.[caller === RESOURCE_SERVER ? 'uses' : 'usesOfOthers']
    uses?.push({ ...entry, attempt: request.attempt })
  }
  return { approvals: [...byId.values()], mixed }
}

const isUsed = ({ response }: Entry): boolean => response.kind === 'used'

/** I3 */
function askedAfterEnding(lineage: Lineage, rules: Rules): Violation[] {
  const asks = lineage.entries.filter(({ response }) => response.kind === 'asked')
  if (asks.length === 0) return []
  const endings = acknowledgedEndings(lineage, rules)
  return asks.flatMap((ask): Violation[] => {
    const token = ask.request.op === 'ask' ? ask.request.token : ''
    const revoked = requestsFor(lineage, 'revoke', token).filter(({ response }) => response.kind === 'done')
    const ending = [...endings, ...revoked].find((each) => precedes(each, ask))
    if (!ending) return []
    return [{ invariant: 'I3', words: 'an approval was asked for after an acknowledged ending', entries: [ending, ask] }]
  })
}

/** I8 */
function usedTwice({ uses }: Asked): Violation[] {
  const used = uses.filter(isUsed)
  if (new Set(used.map(({ attempt }) => attempt)).size > 1)
    return [{ invariant: 'I8', words: 'two attempts used one approval', entries: used }]
  if (new Set(used.map(({ response }) => JSON.stringify(response))).size > 1)
    return [{ invariant: 'I8', words: 'a repeated use got another answer', entries: used }]
  return []
}

/** I8: the first answer of the user stays. */
function usedWithoutSignature({ answers, uses, ask }: Asked): Violation[] {
  const acknowledged = answers.filter(({ response }) => response.kind === 'done')
  const declined = acknowledged.find(({ request }) => request.op === 'decline')
  if (declined && acknowledged.some(({ request }) => request.op === 'sign'))
    return [{ invariant: 'I8', words: 'an approval was both signed and declined', entries: acknowledged }]
  return uses.filter(isUsed).flatMap((use): Violation[] => {
    const isSigned = answers.some(
      ({ request, response, begin }) => request.op === 'sign' && response.kind !== 'refused' && begin < use.end,
    )
    if (isSigned && !declined) return []
    return [{ invariant: 'I8', words: 'an approval was used that the wallet did not sign', entries: [declined ?? ask, use] }]
  })
}

/** I3: unless the same attempt was sent before, and may have used the approval then. */
function usedAfterEnding({ lineage, uses }: Asked, rules: Rules): Violation[] {
  const endings = uses.some(isUsed) ? acknowledgedEndings(lineage, rules) : []
  return uses.filter(isUsed).flatMap((use): Violation[] => {
    const ending = endings.find(
      (each) =>
        precedes(each, use) &&
        !uses.some(({ attempt, response, begin }) => attempt === use.attempt && response.kind !== 'refused' && begin < each.end),
    )
    if (!ending) return []
    return [{ invariant: 'I3', words: 'an approval was used after an acknowledged ending', entries: [ending, use] }]
  })
}

/** Seconds from the signature in which an approval can be used. */
const USED_WITHIN = 600

/** I4: a use was refused although the user had answered otherwise, or although the approval could be used. */
function lostAnswers({ lineage, answers, uses }: Asked, rules: Rules): Violation[] {
  const acknowledged = answers.find(({ response }) => response.kind === 'done')
  if (!acknowledged) return []
  const answer = acknowledged.request.op === 'sign' ? 'signed' : 'declined'
  const endings = possibleEndings(lineage, rules)
  const isPossible = (use: Use, error: string): boolean => {
    if (error === 'already_used' || error === 'declined')
      return answer === 'signed' ? error === 'already_used' : error === 'declined'
    if (answer === 'declined' || (error !== 'ended' && error !== 'expired')) return false
    const mayHaveExpired = !certainlyWithin(acknowledged, use, USED_WITHIN)
    return mayHaveExpired || (error === 'ended' && endings.some(({ begin }) => begin < use.end))
  }
  return uses.flatMap((use): Violation[] => {
    const { response } = use
    if (response.kind !== 'refused' || !precedes(acknowledged, use) || isPossible(use, response.error)) return []
    return [{ invariant: 'I4', words: 'the answer of the user is gone', entries: [acknowledged, use] }]
  })
}

/** I4 and I5 */
function lostUses({ uses, ask }: Asked): Violation[] {
  return uses.flatMap((use): Violation[] => {
    if (use.response.kind !== 'refused') return []
    const before = uses.find((each) => isUsed(each) && each.attempt === use.attempt && precedes(each, use))
    if (before)
      return [{ invariant: 'I4', words: 'an acknowledged use was refused when it was repeated', entries: [before, use] }]
    const isOther = uses.some(({ attempt, begin }) => attempt !== use.attempt && begin < use.end)
    if (use.response.error !== 'already_used' || isOther) return []
    return [{ invariant: 'I5', words: 'a use was refused because of itself', entries: [ask, use] }]
  })
}

/** I6 */
function mixedUses({ key, lineage, ask, uses, usesOfOthers }: Asked): Violation[] {
  const wrong = [
    ...usesOfOthers.filter(isUsed),
    ...uses.filter(({ request, response }) => {
      if (response.kind !== 'used' || request.op !== 'use') return false
      return response.approval !== request.approval || response.address !== lineage.wallet || !response.receipt.includes(key)
    }),
  ]
  return wrong.map((use) => ({ invariant: 'I6', words: 'a signature for another wallet, action or caller', entries: [ask, use] }))
}
