/**
 * The part of the checker for draws. Pure.
 *
 * I3: nothing is drawn after an acknowledged ending of the grant, except a draw that may have been made before. I4: a draw and a return that were
 * acknowledged are kept, and nothing is refused while enough is left. I6: only the API of the limit draws. I9: in no period is more drawn than the wallet
 * signed, and each key is drawn once and given back once.
 */
import { acknowledgedEndings, certainlyUnexpired, possibleEndings, type Rules } from './endings.ts'
import { type Entry, type Numbers, precedes, RESOURCE_SERVER, type Violation } from './history.ts'
import { type Lineage, requestsFor } from './lineage.ts'

type Drawn = Extract<Entry['response'], { kind: 'drawn' }>
type Draw = Entry & { token: string; amount: number }
type Return = Entry & { amount: number }
/** The requests with one key. */
type Key = { draws: Draw[]; returns: Return[] }
/** `keys`: of the API of the limit. */
type Limited = { lineage: Lineage; limit: Numbers; keys: Key[]; drawsOfOthers: Draw[] }

export function drawViolations(lineages: readonly Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  return limitedOf(lineages, history).flatMap((limited) => [
    ...limited.keys.flatMap((key) => [...drawnTwice(key), ...returnedTwice(key), ...lostDraws(key), ...lostReturns(key)]),
    ...sharedNumbers(limited),
    ...overdrawn(limited),
    ...wrongLeft(limited),
    ...drawnAfterEnding(limited, rules),
    ...wronglyRefused(limited, rules),
    ...drawnByOthers(limited),
  ])
}

function limitedOf(lineages: readonly Lineage[], history: readonly Entry[]): Limited[] {
  const returns = Map.groupBy(
    history.flatMap((entry) => (entry.request.op === 'give_back' ? [{ ...entry, ...entry.request }] : [])),
    ({ grantId }) => grantId,
  )
  return lineages.flatMap((lineage): Limited[] => {
    const { request } = lineage.issue
    if (request.op !== 'sign_limit') return []
    const draws = lineage.entries.flatMap((entry) => (entry.request.op === 'draw' ? [{ ...entry, ...entry.request }] : []))
    const [grantId = ''] = [...lineage.access.values()].map((tokens) => tokens.grantId)
    const returnsOf = Map.groupBy(returns.get(grantId) ?? [], ({ key }) => key)
    const own = Map.groupBy(
      draws.filter(({ caller }) => caller === RESOURCE_SERVER),
      ({ key }) => key,
    )
    const names = new Set([...own.keys(), ...returnsOf.keys()])
    const keys = [...names].map((key) => ({ draws: own.get(key) ?? [], returns: returnsOf.get(key) ?? [] }))
    return [{ lineage, limit: request.limit, keys, drawsOfOthers: draws.filter(({ caller }) => caller !== RESOURCE_SERVER) }]
  })
}

const isDrawn = ({ response }: Entry): boolean => response.kind === 'drawn'
const isReturned = ({ response }: Entry): boolean => response.kind === 'returned'
/** Whether the request took effect, or may have. */
const mayHaveWorked = ({ response }: Entry): boolean => response.kind !== 'refused'

/** I9 */
function drawnTwice({ draws }: Key): Violation[] {
  const drawn = draws.filter(isDrawn)
  if (new Set(drawn.map(({ amount }) => amount)).size > 1)
    return [{ invariant: 'I9', words: 'one key drew two amounts', entries: drawn }]
  if (new Set(drawn.map(({ response }) => JSON.stringify(response))).size > 1)
    return [{ invariant: 'I9', words: 'a repeated draw got another answer', entries: drawn }]
  return []
}

/** I9 */
function returnedTwice({ draws, returns }: Key): Violation[] {
  const returned = returns.filter(isReturned)
  if (new Set(returned.map(({ amount }) => amount)).size > 1)
    return [{ invariant: 'I9', words: 'a draw was given back twice', entries: returned }]
  return returned.flatMap((each): Violation[] => {
    const isCovered = draws.some((draw) => mayHaveWorked(draw) && draw.begin < each.end && draw.amount >= each.amount)
    return isCovered ? [] : [{ invariant: 'I9', words: 'more was given back than was drawn', entries: [each] }]
  })
}

/** I9 */
function sharedNumbers({ keys }: Limited): Violation[] {
  const first = new Map<number, Draw>()
  return keys.flatMap(({ draws }): Violation[] => {
    const draw = draws.find(isDrawn)
    if (!draw) return []
    const { draw: number } = draw.response as Drawn
    const other = first.get(number)
    first.set(number, other ?? draw)
    return other ? [{ invariant: 'I9', words: 'two keys have one draw', entries: [other, draw] }] : []
  })
}

type Known = { key: Key; draw: Draw; drawn: Drawn }

/** The draws with a response, by the end of their period, ordered by their number. */
function periodsOf({ keys }: Limited): Known[][] {
  const known = keys.flatMap((key): Known[] => {
    const draw = key.draws.find(isDrawn)
    return draw ? [{ key, draw, drawn: draw.response as Drawn }] : []
  })
  return [...Map.groupBy(known, ({ drawn }) => drawn.until).values()].map((each) =>
    each.sort((a, b) => a.drawn.draw - b.drawn.draw),
  )
}

/** The most that may have been given back of the draws: with the whole amount, the use too. */
function mostReturned(all: readonly Known[]): { uses: number; amount: number } {
  let [uses, amount] = [0, 0]
  for (const { key, draw } of all) {
    const amounts = key.returns.filter((each) => mayHaveWorked(each) && each.amount <= draw.amount).map((each) => each.amount)
    if (amounts.length === 0) continue
    amount += Math.max(...amounts)
    if (amounts.includes(draw.amount)) uses++
  }
  return { uses, amount }
}

/** I9 */
function overdrawn(limited: Limited): Violation[] {
  const { limit } = limited
  return periodsOf(limited).flatMap((known): Violation[] => {
    const returned = mostReturned(known)
    const amount = known.reduce((sum, { draw }) => sum + draw.amount, 0)
    const isAbove =
      known.length > limit.uses + returned.uses ||
      amount > limit.amount + returned.amount ||
      known.some(({ draw }) => draw.amount > limit.each)
    const entries = known.map(({ draw }) => draw)
    return isAbove ? [{ invariant: 'I9', words: 'more was drawn than the wallet signed', entries }] : []
  })
}

/** I9: what is left follows from the draw before, unless something was given back, or drawn with an answer that was lost. */
function wrongLeft(limited: Limited): Violation[] {
  const { limit } = limited
  return periodsOf(limited).flatMap((known) => {
    const returned = mostReturned(known)
    return known.flatMap(({ draw, drawn }, index): Violation[] => {
      const before = known[index - 1]
      const [uses, amount] = [before?.drawn.uses ?? limit.uses, before?.drawn.amount ?? limit.amount]
      const more = { uses: drawn.uses - uses + 1, amount: drawn.amount - amount + draw.amount }
      const isNext = before !== undefined && before.drawn.draw + 1 === drawn.draw
      const isWrong =
        drawn.uses < 0 ||
        drawn.amount < 0 ||
        drawn.uses > limit.uses ||
        drawn.amount > limit.amount ||
        more.uses > returned.uses ||
        more.amount > returned.amount ||
        (isNext && (more.uses < 0 || more.amount < 0))
      if (!isWrong) return []
      return [
        { invariant: 'I9', words: 'what is left does not fit the draws', entries: [...(before ? [before.draw] : []), draw] },
      ]
    })
  })
}

/** I3: unless the same draw was requested before, and may have been made then. */
function drawnAfterEnding({ lineage, keys }: Limited, rules: Rules): Violation[] {
  const endings = acknowledgedEndings(lineage, rules)
  const revoked = Map.groupBy(
    [...lineage.access.keys()].flatMap((token) => requestsFor(lineage, 'revoke', token).map((entry) => ({ token, entry }))),
    ({ token }) => token,
  )
  return keys.flatMap(({ draws }) =>
    draws.filter(isDrawn).flatMap((draw): Violation[] => {
      const ofToken = (revoked.get(draw.token) ?? []).map(({ entry }) => entry).filter(({ response }) => response.kind === 'done')
      const ending = [...endings, ...ofToken].find(
        (each) => precedes(each, draw) && !draws.some((other) => mayHaveWorked(other) && other.begin < each.end),
      )
      return ending ? [{ invariant: 'I3', words: 'drawn after an acknowledged ending', entries: [ending, draw] }] : []
    }),
  )
}

/** I4 */
function lostDraws({ draws }: Key): Violation[] {
  return draws.flatMap((draw): Violation[] => {
    if (draw.response.kind !== 'refused') return []
    const before = draws.find((each) => isDrawn(each) && precedes(each, draw))
    if (!before || (before.amount !== draw.amount && draw.response.error === 'key_used')) return []
    return [{ invariant: 'I4', words: 'an acknowledged draw is gone', entries: [before, draw] }]
  })
}

/** I4 */
function lostReturns({ draws, returns }: Key): Violation[] {
  return returns.flatMap((each): Violation[] => {
    const { response, amount } = each
    if (response.kind !== 'refused') return []
    const drawn = draws.find((draw) => isDrawn(draw) && precedes(draw, each))
    const before = returns.find((other) => isReturned(other) && other.amount === amount && precedes(other, each))
    const isOther = returns.some((other) => mayHaveWorked(other) && other.amount !== amount && other.begin < each.end)
    const isPossible =
      response.error === 'unknown_draw'
        ? !drawn
        : response.error === 'above_draw'
          ? draws.some((draw) => mayHaveWorked(draw) && draw.amount < amount)
          : isOther
    if (!before && isPossible) return []
    return [
      {
        invariant: 'I4',
        words: 'a draw or its return is gone',
        entries: [...(drawn ? [drawn] : []), ...(before ? [before] : []), each],
      },
    ]
  })
}

/** I4: a new draw is refused only if too little may be left, or the grant may have ended. */
function wronglyRefused({ lineage, limit, keys }: Limited, rules: Rules): Violation[] {
  const endings = possibleEndings(lineage, rules)
  const attempts = keys.flatMap(({ draws }) => {
    const worked = draws.filter(mayHaveWorked)
    return worked.length === 0
      ? []
      : [{ begin: Math.min(...worked.map(({ begin }) => begin)), amount: Math.max(...worked.map(({ amount }) => amount)) }]
  })
  const isPossible = (draw: Draw, error: string, { draws }: Key): boolean => {
    if (error === 'token_inactive') {
      const issued = lineage.access.get(draw.token)
      const isRevoked = requestsFor(lineage, 'revoke', draw.token).some(({ begin }) => begin < draw.end)
      return isRevoked || endings.some(({ begin }) => begin < draw.end) || !issued || !certainlyUnexpired(draw, issued.expiresAt)
    }
    if (error === 'each_exceeded') return draw.amount > limit.each
    if (error === 'key_used')
      return draws.some((other) => mayHaveWorked(other) && other.amount !== draw.amount && other.begin < draw.end)
    const others = attempts.filter(({ begin }) => begin < draw.end)
    if (error === 'uses_exceeded') return others.length >= limit.uses
    return error === 'amount_exceeded' && others.reduce((sum, { amount }) => sum + amount, draw.amount) > limit.amount
  }
  return keys.flatMap((key) =>
    key.draws.flatMap((draw): Violation[] => {
      const { response } = draw
      if (response.kind !== 'refused' || isPossible(draw, response.error, key)) return []
      return [{ invariant: 'I4', words: 'a draw was refused without a reason', entries: [lineage.issue, draw] }]
    }),
  )
}

/** I6 */
function drawnByOthers({ lineage, drawsOfOthers }: Limited): Violation[] {
  return drawsOfOthers.filter(isDrawn).map((draw) => ({
    invariant: 'I6',
    words: 'an API drew from the limit of another one',
    entries: [lineage.issue, draw],
  }))
}
