/** The limit of one grant of a little issuer, in memory: what an API draws and gives back. */
import { basicCredentials } from '../src/introspection.ts'
import { CREDENTIALS, problem } from './little-approvals.ts'
import { type Answer, claimsOf, type LittleIssuer, LOST, ok } from './little-issuer.ts'

/** `grant_id` of a token that has the limit. */
export const GRANT = '01a2259d-eae0-8000-a4f7-a07ae0b707ef'

/** As in the signed text: at most 2 times a week, 50.00 NESO each, 100.00 a week. */
export const LIMIT = {
  scope: 'enhancement',
  uses: 2,
  per: 'week',
  unit: 'NESO',
  decimals: 2,
  amount: 10_000,
  each: 5_000,
} as const

type Drawn = { draw: number; amount: number | undefined; answer: object; returned?: number | undefined }
type Next = (Answer | typeof LOST | 'lost after')[]

export interface LittleDraws {
  /** Tests can change the limit. Without `amount`, the limit has uses only. */
  limit: { scope: string; uses: number; amount?: number; each?: number }
  /** The end of the period, in epoch seconds; undefined without a period. */
  until: number | undefined
  /** The draws by the key of the API. */
  byKey: Map<string, Drawn>
  left: { uses: number; amount?: number }
  /** The next responses. If the list is empty, the issuer responds as the endpoint does. `lost after`: the endpoint serves the request, and the response is lost. */
  next: { draw: Next; giveBack: Next }
  /** What the API sent, in order. */
  asked: Record<string, string>[]
  returned: Record<string, string>[]
}

/** Gives the issuer the two endpoints of draws. */
export function addDraws(issuer: LittleIssuer, limit: LittleDraws['limit'] = LIMIT): LittleDraws {
  const { uses, amount } = limit
  const draws: LittleDraws = {
    limit,
    until: issuer.clock.now + 604_800,
    byKey: new Map(),
    left: { uses, ...(amount === undefined ? {} : { amount }) },
    next: { draw: [], giveBack: [] },
    asked: [],
    returned: [],
  }

  function answerWith(next: Next, kept: Record<string, string>[], serve: (form: Record<string, string>) => Answer) {
    return async ({ form, authorization }: { form: URLSearchParams; authorization: string | undefined }) => {
      const values = Object.fromEntries(form)
      kept.push(values)
      const first = next.shift()
      if (first && first !== 'lost after') return first
      const answer = authorization === basicCredentials(CREDENTIALS) ? serve(values) : problem(401, 'invalid_client')
      return first ? LOST : answer
    }
  }

  issuer.draws = {
    draw: answerWith(draws.next.draw, draws.asked, (form) => drawFrom(draws, form)),
    giveBack: answerWith(draws.next.giveBack, draws.returned, (form) => returnTo(draws, form)),
  }
  return draws
}

function drawFrom(draws: LittleDraws, { token = '', key = '', amount: written }: Record<string, string>): Answer {
  const { limit, left, until } = draws
  const amount = written === undefined ? undefined : Number(written)
  const before = draws.byKey.get(key)
  if (before) return before.amount === amount ? ok(before.answer) : problem(409, 'key_used')
  const { scope, grant_id: grantId } = claimsOf(token)
  if (grantId !== GRANT) return problem(403, 'token_inactive')
  if (!String(scope).split(' ').includes(limit.scope)) return problem(403, 'no_limit')
  if ((amount === undefined) !== (limit.amount === undefined)) return problem(400, 'invalid_request')
  const refused = (error: string) => problem(403, error, { scope: limit.scope })
  if ((amount ?? 0) > (limit.each ?? 0)) return refused('each_exceeded')
  if (left.uses === 0) return refused('uses_exceeded')
  if ((amount ?? 0) > (left.amount ?? 0)) return refused('amount_exceeded')
  left.uses -= 1
  if (left.amount !== undefined) left.amount -= amount ?? 0
  const draw = draws.byKey.size + 1
  const answer = { draw, left: { ...left }, ...(until === undefined ? {} : { until }) }
  draws.byKey.set(key, { draw, amount, answer })
  return ok(answer)
}

function returnTo(
  { byKey, left }: LittleDraws,
  { grant_id: grantId, key = '', amount: written }: Record<string, string>,
): Answer {
  const drawn = byKey.get(key)
  if (!drawn || grantId !== GRANT) return problem(403, 'unknown_draw')
  if ((written === undefined) !== (drawn.amount === undefined)) return problem(400, 'invalid_request')
  const amount = Number(written ?? 0)
  if (drawn.returned !== undefined)
    return drawn.returned === amount ? ok({ draw: drawn.draw, returned: amount }) : problem(409, 'already_returned')
  if (amount > (drawn.amount ?? 0)) return problem(409, 'above_draw')
  drawn.returned = amount
  if (amount === (drawn.amount ?? 0)) left.uses += 1
  if (left.amount !== undefined) left.amount += amount
  return ok({ draw: drawn.draw, returned: amount })
}
