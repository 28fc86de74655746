/** Draws of a limit: each key draws once, and never more than the wallet signed, however requests race, repeat or get lost. */
import { randomUUID } from 'node:crypto'
import type { Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Draw, DrawKey, DrawOutcome, DrawRequest, DrawReturn, ReturnOutcome } from '../../../src/domain/model/draw-store.ts'
import { DRAWS_OF_GRANT_AT_MOST, decideDraw, decideReturn } from '../../../src/domain/model/draws.ts'
import type { Grant, SignedLimit } from '../../../src/domain/model/records.ts'
import type { GrantValidity, NewGrant } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { forAllAsync } from '../../support/property.ts'
import { howMany } from '../../support/runs.ts'
import { DAY, livingGrant, NOW, newGrant, race, rotationOf, type Subject } from './subject.ts'

/** The rounds of a race, and of one between equal requests. */
const ROUNDS = howMany('TEST_DRAW_ROUNDS', 20)
const EQUAL_ROUNDS = 10 * ROUNDS
const WEEK = 7 * DAY
const RESOURCE = 'https://api.example.com/'

/** The limit of the specification: at most 20 times a week, 50.00 each, 500.00 a week. */
export const WEEKLY: Limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5000 }

export function signedLimit(limit: Limit = WEEKLY, signed: Partial<SignedLimit> = {}): SignedLimit {
  return { resource: RESOURCE, scope: 'enhancement', limit, signedAt: NOW, ...signed }
}

export function limitedGrant(store: Store, limit: Limit = WEEKLY, grant: Partial<NewGrant> = {}): Promise<NewGrant> {
  return livingGrant(store, { signedLimit: signedLimit(limit), ...grant })
}

/** A request to draw, with a key of its own. */
export function drawOf(
  grant: Pick<NewGrant, 'id' | 'clientId' | 'signedLimit'>,
  request: Partial<DrawRequest> = {},
): DrawRequest {
  return {
    grantId: grant.id,
    clientId: 'the-api',
    key: randomUUID(),
    jti: randomUUID(),
    resource: RESOURCE,
    scopes: ['profile', 'enhancement'],
    amount: grant.signedLimit?.limit.amount === undefined ? null : 100,
    at: NOW + 10,
    ...request,
  }
}

/** The draw that a request makes, if so much is left after it. */
const drawn = (
  { grantId, clientId, key, amount, at }: DrawRequest,
  more: Pick<Draw, 'number' | 'left'> & Partial<Draw>,
): Draw => ({ grantId, clientId, key, amount, at, from: NOW, until: NOW + WEEK, returned: null, ...more })

async function countsOf(store: Store, { id }: Pick<Grant, 'id'>): Promise<Grant['drawn']> {
  return (await store.grants.readGrant(id))?.drawn ?? null
}

/** Makes the calls one after another. */
async function inOrder<Outcome>(calls: readonly (() => Promise<Outcome>)[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const call of calls) outcomes.push(await call())
  return outcomes
}

const kindOf = async (outcome: Promise<{ kind: string }>): Promise<string> => (await outcome).kind

export function limitsContract(subject: Subject): void {
  test('A signed limit is stored with its grant, and read wherever the grant is read', async () => {
    const [store, other] = subject().nodes
    for (const limit of [{ uses: 1 }, { uses: 10_000, per: 'day' }, WEEKLY] as const) {
      const grant = newGrant({ signedLimit: signedLimit(limit) })
      const outcome = await store.grants.redeemCode(grant, 'attempt', NOW)
      const limits = { signedLimit: grant.signedLimit, drawn: null }
      expect(outcome).toMatchObject({ kind: 'redeemed', grant: limits })
      expect(await other.grants.redeemCode(grant, 'attempt', NOW)).toMatchObject({ kind: 'redeemed', grant: limits })
      const read = [
        await other.grants.readGrant(grant.id),
        await other.grants.readGrantValidity(grant.id),
        ...(await other.grants.listGrants({ clientId: grant.clientId, limit: 10 })),
        ...(await other.grants.listUnendedGrants({ wallet: grant.wallet, limit: 10 })),
      ]
      expect(read).toHaveLength(4)
      for (const each of read) expect(each).toMatchObject(limits)
    }
    const grant = await livingGrant(store)
    expect(await other.grants.readGrantValidity(grant.id)).toMatchObject({ signedLimit: null, drawn: null })
  })

  test('A draw is stored with its number and with what is left, and an unknown one reads as null', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const [first, second] = [drawOf(grant, { amount: 5000 }), drawOf(grant, { amount: 1, clientId: 'https://other.example.com' })]
    const one = drawn(first, { number: 1, left: { uses: 19, amount: 45_000 } })
    expect(await store.draws.draw(first)).toEqual({ kind: 'drawn', draw: one, isAgain: false })
    const two = drawn(second, { number: 2, left: { uses: 18, amount: 44_999 } })
    expect(await other.draws.draw(second)).toEqual({ kind: 'drawn', draw: two, isAgain: false })
    expect(await other.draws.readDraw(first)).toEqual(one)
    expect(await store.draws.readDraw(second)).toEqual(two)
    for (const unknown of [{ key: randomUUID() }, { clientId: 'another' }, { grantId: randomUUID() }])
      expect(await store.draws.readDraw({ ...first, ...unknown })).toBeNull()
    const counts = { from: NOW, uses: 2, amount: 5001, draws: 2 }
    expect(await countsOf(other, grant)).toEqual(counts)
    expect(await other.grants.readGrantValidity(grant.id)).toMatchObject({ drawn: counts })
    const [listed] = await other.grants.listGrants({ clientId: grant.clientId, limit: 10 })
    expect(listed?.drawn).toEqual(counts)
  })

  test('A limit without amounts and without a period counts the uses in the whole time', async () => {
    const [store] = subject().nodes
    const grant = await limitedGrant(store, { uses: 2 })
    const [first, second] = [drawOf(grant), drawOf(grant, { at: NOW + 20 * DAY })]
    const whole = { until: null, from: NOW }
    expect(await store.draws.draw(first)).toMatchObject({
      draw: drawn(first, { ...whole, number: 1, left: { uses: 1, amount: null } }),
    })
    expect(await store.draws.draw(second)).toMatchObject({
      draw: drawn(second, { ...whole, number: 2, left: { uses: 0, amount: null } }),
    })
    expect(await kindOf(store.draws.draw(drawOf(grant, { at: NOW + 29 * DAY })))).toBe('uses_exceeded')
  })

  test('The largest amounts are counted exactly', async () => {
    const [store] = subject().nodes
    const most = 999_999_999_999_999
    const grant = await limitedGrant(store, { uses: 10_000, per: 'day', unit: 'A1', decimals: 6, amount: most, each: most })
    expect(await store.draws.draw(drawOf(grant, { amount: most - 1 }))).toMatchObject({ draw: { left: { amount: 1 } } })
    expect(await kindOf(store.draws.draw(drawOf(grant, { amount: 2 })))).toBe('amount_exceeded')
    expect(await store.draws.draw(drawOf(grant, { amount: 1 }))).toMatchObject({ draw: { left: { uses: 9998, amount: 0 } } })
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 2, amount: most, draws: 2 })
  })

  test('Each condition alone refuses a draw, changes nothing, and leaves the key free', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store, { ...WEEKLY, uses: 2, amount: 150, each: 100 })
    await store.draws.draw(drawOf(grant, { amount: 60 }))
    await store.grants.revokeAccessToken({
      grantId: grant.id,
      clientId: grant.clientId,
      jti: 'revoked',
      expiresAt: NOW + 600,
      at: NOW,
    })
    const counts = await countsOf(store, grant)
    const refused: [string, Partial<DrawRequest>][] = [
      ['inactive', { grantId: randomUUID() }],
      ['inactive', { at: grant.expiresAt }],
      ['inactive', { jti: 'revoked' }],
      ['inactive', { exchangedFrom: ['another', 'revoked'] }],
      ['no_limit', { resource: 'https://files.example.com/a?b=c' }],
      ['no_limit', { scopes: ['profile'] }],
      ['no_limit', { scopes: [] }],
      ['amount_missing', { amount: null }],
      ['each_exceeded', { amount: 101 }],
      ['amount_exceeded', { amount: 91 }],
    ]
    const key = randomUUID()
    for (const [kind, given] of refused) {
      const request = drawOf(grant, { key, amount: 90, ...given })
      expect([await kindOf(other.draws.draw(request)), given]).toEqual([kind, given])
      expect(await other.draws.readDraw(request)).toBeNull()
      expect(await countsOf(store, grant)).toEqual(counts)
    }
    const exceeded = await other.draws.draw(drawOf(grant, { amount: 101 }))
    expect(exceeded).toEqual({ kind: 'each_exceeded', limit: grant.signedLimit })
    expect(await other.draws.draw(drawOf(grant, { key, amount: 90 }))).toMatchObject({ draw: { left: { uses: 0, amount: 0 } } })
    expect(await kindOf(other.draws.draw(drawOf(grant, { amount: 1 })))).toBe('uses_exceeded')
    const plain = await limitedGrant(store, { uses: 1 })
    expect(await kindOf(store.draws.draw(drawOf(plain, { amount: 1 })))).toBe('amount_without_limit')
    expect(await kindOf(store.draws.draw(drawOf(await livingGrant(store))))).toBe('no_limit')
  })

  test('After the end of a grant nothing is drawn, and a repeated request still gets the values of its draw', async () => {
    const [store, other] = subject().nodes
    const [ended, expired] = [await limitedGrant(store), await limitedGrant(store, WEEKLY, { expiresAt: NOW + 100 })]
    for (const grant of [ended, expired]) {
      const request = drawOf(grant)
      const first = await store.draws.draw(request)
      expect(first).toMatchObject({ kind: 'drawn', isAgain: false })
      if (grant === ended) await other.grants.endGrant(grant.id, 'user', NOW + 20)
      expect(await kindOf(other.draws.draw(drawOf(grant, { at: NOW + 100 })))).toBe('inactive')
      const late = { ...request, at: NOW + 5 * DAY, jti: 'another', scopes: [], resource: 'https://another.example.com/' }
      expect(await other.draws.draw(late)).toEqual({ ...first, isAgain: true })
      expect(await kindOf(other.draws.draw({ ...late, amount: 101 }))).toBe('key_used')
      expect(await countsOf(other, grant)).toMatchObject({ draws: 1 })
    }
  })

  test('A key belongs to one client and one grant', async () => {
    const [store, other] = subject().nodes
    const [grant, another] = [await limitedGrant(store), await limitedGrant(store)]
    const request = drawOf(grant, { key: 'order-1' })
    const outcomes = await inOrder([
      () => store.draws.draw(request),
      () => other.draws.draw(request),
      () => other.draws.draw({ ...request, clientId: 'another' }),
      () => other.draws.draw(drawOf(another, { key: 'order-1' })),
      () => store.draws.draw({ ...request, key: 'ORDER-1' }),
    ])
    expect(outcomes.map((outcome) => outcome.kind === 'drawn' && [outcome.draw.number, outcome.isAgain])).toEqual([
      [1, false],
      [1, true],
      [2, false],
      [1, false],
      [3, false],
    ])
  })

  test('The draws of a grant are listed by page, the newest first', async () => {
    const [store, other] = subject().nodes
    const [grant, another] = [await limitedGrant(store), await limitedGrant(store)]
    await store.draws.draw(drawOf(another))
    for (let number = 1; number <= 5; number++) await store.draws.draw(drawOf(grant, { clientId: `client-${number % 2}` }))
    const numbers = async (page: { before?: number; limit: number }) =>
      (await other.draws.listDraws(grant.id, page)).map(({ number }) => number)
    expect(await numbers({ limit: 10 })).toEqual([5, 4, 3, 2, 1])
    expect(await numbers({ limit: 2 })).toEqual([5, 4])
    expect(await numbers({ before: 4, limit: 2 })).toEqual([3, 2])
    expect(await numbers({ before: 1, limit: 2 })).toEqual([])
    const [newest] = await other.draws.listDraws(grant.id, { limit: 1 })
    expect(newest && (await store.draws.readDraw(newest))).toEqual(newest)
    expect(await other.draws.listDraws(randomUUID(), { limit: 10 })).toEqual([])
  })

  test(`A grant has at most ${DRAWS_OF_GRANT_AT_MOST} draws, also if each was given back`, async () => {
    const [store] = subject().nodes
    const grant = await limitedGrant(store, { uses: 10_000, per: 'week' })
    let last = drawOf(grant)
    for (let made = 0; made < DRAWS_OF_GRANT_AT_MOST; made += 100) {
      const requests = Array.from({ length: 100 }, () => drawOf(grant, { at: NOW + made }))
      const outcomes = await Promise.all(requests.map((request) => store.draws.draw(request)))
      expect(outcomes.filter(({ kind }) => kind !== 'drawn')).toEqual([])
      last = requests[0] as DrawRequest
    }
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 10_000, amount: 0, draws: 10_000 })
    expect(await kindOf(store.draws.giveBack(last, { amount: null, at: NOW + 10_000 }))).toBe('returned')
    expect(await kindOf(store.draws.draw(drawOf(grant, { at: NOW + 10_000 })))).toBe('uses_exceeded')
    expect(await kindOf(store.draws.draw(drawOf(grant, { at: NOW + 2 * WEEK })))).toBe('uses_exceeded')
    const newest = await store.draws.listDraws(grant.id, { limit: 2 })
    expect(newest.map(({ number }) => number)).toEqual([10_000, 9999])
  }, 120_000)
}

export function periodsContract(subject: Subject): void {
  test('A period begins at the signature, and at its edge the whole limit is left again', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store, { ...WEEKLY, uses: 1 }, { expiresAt: NOW + 30 * DAY })
    const drawAt = (at: number) => store.draws.draw(drawOf(grant, { at, amount: 5000 }))
    expect(await drawAt(NOW)).toMatchObject({ draw: { from: NOW, until: NOW + WEEK, left: { uses: 0, amount: 45_000 } } })
    expect(await kindOf(drawAt(NOW + WEEK - 1))).toBe('uses_exceeded')
    expect(await drawAt(NOW + WEEK)).toMatchObject({
      draw: { from: NOW + WEEK, until: NOW + 2 * WEEK, left: { uses: 0, amount: 45_000 } },
    })
    expect(await kindOf(drawAt(NOW + 2 * WEEK - 1))).toBe('uses_exceeded')
    expect(await drawAt(NOW + 4 * WEEK + 5), 'after two periods without a draw').toMatchObject({
      draw: { number: 3, from: NOW + 4 * WEEK, left: { uses: 0, amount: 45_000 } },
    })
    expect(await countsOf(other, grant)).toEqual({ from: NOW + 4 * WEEK, uses: 1, amount: 5000, draws: 3 })
  })

  test('A day has 86,400 seconds from the signature, whatever the time of the day is', async () => {
    const [store] = subject().nodes
    const signed = signedLimit({ uses: 1, per: 'day' }, { signedAt: NOW - 1000 })
    const grant = await livingGrant(store, { signedLimit: signed })
    expect(await store.draws.draw(drawOf(grant, { at: NOW }))).toMatchObject({
      draw: { from: NOW - 1000, until: NOW - 1000 + DAY },
    })
    expect(await kindOf(store.draws.draw(drawOf(grant, { at: NOW + DAY - 1001 })))).toBe('uses_exceeded')
    expect(await store.draws.draw(drawOf(grant, { at: NOW + DAY - 1000 }))).toMatchObject({ draw: { from: NOW - 1000 + DAY } })
  })

  test('A clock that is set back fills no period again, and a clock before the signature counts in the first period', async () => {
    const [store] = subject().nodes
    const grant = await limitedGrant(store, { ...WEEKLY, uses: 2 })
    const drawAt = (at: number) => store.draws.draw(drawOf(grant, { at }))
    expect(await drawAt(NOW - 3 * WEEK - 1)).toMatchObject({ draw: { from: NOW, left: { uses: 1 } } })
    expect(await drawAt(NOW + WEEK)).toMatchObject({ draw: { from: NOW + WEEK, left: { uses: 1 } } })
    expect(await drawAt(NOW + 1), 'set back').toMatchObject({
      draw: { from: NOW + WEEK, until: NOW + 2 * WEEK, left: { uses: 0 } },
    })
    expect(await kindOf(drawAt(NOW + 2))).toBe('uses_exceeded')
    expect(await kindOf(drawAt(NOW + WEEK + 5))).toBe('uses_exceeded')
    expect(await drawAt(NOW + 2 * WEEK)).toMatchObject({ draw: { number: 4, from: NOW + 2 * WEEK, left: { uses: 1 } } })
  })
}

export function returnsContract(subject: Subject): void {
  test('A part of a draw is given back once, and the use only with the whole amount', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const [part, whole] = [drawOf(grant, { amount: 500 }), drawOf(grant, { amount: 500 })]
    await store.draws.draw(part)
    const { draw } = (await store.draws.draw(whole)) as { draw: Draw }
    expect(await other.draws.giveBack(part, { amount: 200, at: NOW + 20 })).toMatchObject({
      kind: 'returned',
      draw: { returned: 200 },
    })
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 2, amount: 800, draws: 2 })
    expect(await other.draws.giveBack(whole, { amount: 500, at: NOW + 20 })).toEqual({
      kind: 'returned',
      draw: { ...draw, returned: 500 },
    })
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 1, amount: 300, draws: 2 })
    expect(await store.draws.readDraw(whole)).toEqual({ ...draw, returned: 500 })
    expect(await store.draws.draw(drawOf(grant, { amount: 100 }))).toMatchObject({
      draw: { number: 3, left: { uses: 18, amount: 49_600 } },
    })
  })

  test('A return that is repeated is answered again and changes nothing, and another one is refused', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const request = drawOf(grant, { amount: 500 })
    await store.draws.draw(request)
    const refused: [string, number | null][] = [
      ['amount_missing', null],
      ['above_draw', 501],
    ]
    for (const [kind, amount] of refused) {
      expect(await kindOf(other.draws.giveBack(request, { amount, at: NOW + 20 }))).toBe(kind)
      expect(await countsOf(store, grant)).toMatchObject({ uses: 1, amount: 500 })
    }
    const first = await store.draws.giveBack(request, { amount: 200, at: NOW + 20 })
    expect(await other.draws.giveBack(request, { amount: 200, at: NOW + 20 * DAY })).toEqual(first)
    expect(await kindOf(other.draws.giveBack(request, { amount: 201, at: NOW + 20 }))).toBe('returned_otherwise')
    expect(await countsOf(store, grant)).toMatchObject({ uses: 1, amount: 300 })
    const again = await store.draws.draw(request)
    expect(again, 'the repeated draw has the values of its time').toMatchObject({
      isAgain: true,
      draw: { left: { uses: 19, amount: 49_500 } },
    })
  })

  test('A use without an amount is given back without an amount', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store, { uses: 1 })
    const request = drawOf(grant)
    await store.draws.draw(request)
    expect(await kindOf(other.draws.giveBack(request, { amount: 1, at: NOW + 20 }))).toBe('amount_without_limit')
    expect(await other.draws.giveBack(request, { amount: null, at: NOW + 20 })).toMatchObject({
      kind: 'returned',
      draw: { returned: 0 },
    })
    expect(await kindOf(other.draws.giveBack(request, { amount: null, at: NOW + 30 }))).toBe('returned')
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 0, amount: 0, draws: 1 })
    expect(await store.draws.draw(drawOf(grant))).toMatchObject({ draw: { number: 2, left: { uses: 0 } } })
  })

  test('Only the client that drew gives back, and a return needs no living grant', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const request = drawOf(grant)
    await store.draws.draw(request)
    for (const unknown of [{ clientId: 'another' }, { key: randomUUID() }, { grantId: randomUUID() }])
      expect(await kindOf(other.draws.giveBack({ ...request, ...unknown }, { amount: 100, at: NOW }))).toBe('unknown')
    await store.grants.endGrant(grant.id, 'user', NOW + 20)
    expect(await kindOf(other.draws.giveBack(request, { amount: 100, at: NOW + 30 }))).toBe('returned')
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 0, amount: 0, draws: 1 })
  })

  test('After its period a draw is given back without any change of the limit, before and after the first draw of the next period', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const [first, second] = [drawOf(grant), drawOf(grant)]
    for (const request of [first, second]) await store.draws.draw(request)
    const before = await countsOf(store, grant)
    expect(await other.draws.giveBack(first, { amount: 100, at: NOW + WEEK })).toMatchObject({
      kind: 'returned',
      draw: { returned: 100 },
    })
    expect(await countsOf(store, grant)).toEqual(before)
    await store.draws.draw(drawOf(grant, { at: NOW + WEEK }))
    const after = await countsOf(store, grant)
    expect(after).toEqual({ from: NOW + WEEK, uses: 1, amount: 100, draws: 3 })
    expect(await other.draws.giveBack(second, { amount: 100, at: NOW + WEEK + 1 })).toMatchObject({ draw: { returned: 100 } })
    expect(await kindOf(other.draws.giveBack(second, { amount: 100, at: NOW + WEEK + 1 }))).toBe('returned')
    expect(await countsOf(store, grant)).toEqual(after)
  })
}

export function drawRacesContract(subject: Subject): void {
  test(`Of many equal requests at once, on two nodes, one draws, and all of them get its values, in each of ${EQUAL_ROUNDS} rounds`, async () => {
    const [store] = subject().nodes
    for (let round = 0; round < EQUAL_ROUNDS; round++) {
      // The rest of one use: each other request finds the limit used up, or the key.
      const grant = await limitedGrant(store, round % 2 === 0 ? WEEKLY : { ...WEEKLY, uses: 1 })
      const request = drawOf(grant)
      const outcomes = await race(subject(), 8, (node) => node.draws.draw(request))
      const draws = outcomes.map((outcome) => (outcome.kind === 'drawn' ? outcome.draw : outcome))
      for (const draw of draws) expect(draw).toEqual(await store.draws.readDraw(request))
      expect(outcomes.filter((outcome) => outcome.kind === 'drawn' && !outcome.isAgain)).toHaveLength(1)
      expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 1, amount: 100, draws: 1 })
    }
  }, 120_000)

  test(`Of requests at once with one key and different amounts, one draws, and those with another amount are refused, in each of ${ROUNDS} rounds`, async () => {
    const [store] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const grant = await limitedGrant(store)
      const request = drawOf(grant)
      const outcomes = await race(subject(), 8, (node, index) => node.draws.draw({ ...request, amount: 100 + (index % 2) }))
      const stored = await store.draws.readDraw(request)
      for (const [index, outcome] of outcomes.entries())
        expect(outcome.kind).toBe(stored?.amount === 100 + (index % 2) ? 'drawn' : 'key_used')
      expect(await countsOf(store, grant)).toMatchObject({ uses: 1, amount: stored?.amount, draws: 1 })
    }
  }, 120_000)

  test('Of sixty-four requests at once with keys of their own, on two nodes, exactly as many draw as the limit allows, with consecutive numbers', async () => {
    const [store] = subject().nodes
    const grant = await limitedGrant(store, { ...WEEKLY, uses: 60, amount: 2000 })
    const outcomes = await race(subject(), 64, (node) => node.draws.draw(drawOf(grant)))
    const numbers = outcomes.flatMap((outcome) => (outcome.kind === 'drawn' ? [outcome.draw.number] : []))
    expect(numbers.sort((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    expect(outcomes.filter(({ kind }) => kind === 'amount_exceeded')).toHaveLength(44)
    const left = (await store.draws.listDraws(grant.id, { limit: 100 })).map(({ left }) => left.amount)
    expect(left, 'each draw left what the next one found').toEqual(Array.from({ length: 20 }, (_, index) => index * 100))
    expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 20, amount: 2000, draws: 20 })
  })

  test('Draws and the end of their grant at once: what was drawn is stored, and nothing is drawn after the acknowledged end', async () => {
    const [store, other] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const grant = await limitedGrant(store)
      const ended = other.grants.endGrant(grant.id, 'user', NOW + 10)
      const racing = race(subject(), 8, (node) => node.draws.draw(drawOf(grant)))
      await ended
      const late = await race(subject(), 4, (node) => node.draws.draw(drawOf(grant)))
      expect(late.map(({ kind }) => kind)).toEqual(['inactive', 'inactive', 'inactive', 'inactive'])
      const made = (await racing).filter(({ kind }) => kind === 'drawn')
      expect(await store.draws.listDraws(grant.id, { limit: 10 })).toHaveLength(made.length)
      expect((await countsOf(store, grant))?.draws ?? 0).toBe(made.length)
    }
  }, 120_000)

  test('Draws at the edge of a period at once are counted in their periods, and the earlier period gets none after the first of the later', async () => {
    const [store] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const grant = await limitedGrant(store, { ...WEEKLY, uses: 3 })
      const outcomes = await race(subject(), 12, (node, index) =>
        node.draws.draw(drawOf(grant, { at: NOW + WEEK - 1 + (index % 2) })),
      )
      const draws = (await store.draws.listDraws(grant.id, { limit: 100 })).toReversed()
      expect(draws).toHaveLength(outcomes.filter(({ kind }) => kind === 'drawn').length)
      const periods = draws.map(({ from }) => from)
      expect(periods).toEqual(periods.toSorted((one, other) => one - other))
      for (const from of [NOW, NOW + WEEK]) expect(periods.filter((each) => each === from).length).toBeLessThanOrEqual(3)
      expect(await countsOf(store, grant)).toMatchObject({ from: NOW + WEEK, uses: 3, draws: draws.length })
    }
  }, 120_000)

  test('Draws and refreshes of one grant at once all take effect', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    const draws = race(subject(), 16, (node) => node.draws.draw(drawOf(grant)))
    for (let generation = 0; generation < 8; generation++)
      expect(await other.grants.rotateRefreshToken(rotationOf(grant, generation))).toMatchObject({
        kind: 'rotated',
        grant: { signedLimit: grant.signedLimit },
      })
    expect((await draws).map(({ kind }) => kind)).toEqual(Array.from({ length: 16 }, () => 'drawn'))
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 8, drawn: { uses: 16, amount: 1600, draws: 16 } })
  })

  test('A refresh token that is used again ends the grant, and its draws with it', async () => {
    const [store, other] = subject().nodes
    const grant = await limitedGrant(store)
    await store.draws.draw(drawOf(grant))
    await store.grants.rotateRefreshToken(rotationOf(grant, 0))
    await store.grants.rotateRefreshToken(rotationOf(grant, 1))
    expect(await kindOf(other.grants.rotateRefreshToken(rotationOf(grant, 0, { at: NOW + 5000 })))).not.toBe('rotated')
    expect(await kindOf(other.draws.draw(drawOf(grant)))).toBe('inactive')
  })

  test('A grant that is superseded draws no more, in both orders, and its draws stay until it is deleted', async () => {
    const [store, other] = subject().nodes
    const [drawnFirst, endedFirst] = [await limitedGrant(store), await limitedGrant(store)]
    const request = drawOf(drawnFirst)
    expect(await kindOf(store.draws.draw(request))).toBe('drawn')
    const ended = { reason: 'superseded', attemptId: 'attempt', at: NOW + 20 } as const
    await other.grants.endGrants([drawnFirst.id, endedFirst.id], ended)
    for (const grant of [drawnFirst, endedFirst])
      expect(await kindOf(store.draws.draw(drawOf(grant, { at: NOW + 20 })))).toBe('inactive')
    expect(await other.draws.readDraw(request)).not.toBeNull()
  })

  test(`Equal returns at once give back once, and draws at the same time are counted, in each of ${ROUNDS} rounds`, async () => {
    const [store] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const grant = await limitedGrant(store)
      const request = drawOf(grant, { amount: 500 })
      await store.draws.draw(request)
      const draws = race(subject(), 4, (node) => node.draws.draw(drawOf(grant)))
      const returns = await race(subject(), 4, (node) => node.draws.giveBack(request, { amount: 500, at: NOW + 20 }))
      expect(returns.map(({ kind }) => kind)).toEqual(['returned', 'returned', 'returned', 'returned'])
      await draws
      expect(await countsOf(store, grant)).toEqual({ from: NOW, uses: 4, amount: 400, draws: 5 })
    }
  }, 120_000)

  test(`A draw and its return at once: the return finds the draw or not, and the counts agree with the rows, in each of ${ROUNDS} rounds`, async () => {
    const [store] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const grant = await limitedGrant(store)
      const request = drawOf(grant)
      const outcomes = await race(
        subject(),
        6,
        async (node, index): Promise<{ kind: string }> =>
          index < 4 ? node.draws.draw(request) : node.draws.giveBack(request, { amount: 100, at: NOW + 20 }),
      )
      for (const { kind } of outcomes.slice(0, 4)) expect(kind).toBe('drawn')
      const isReturned = outcomes.slice(4).some(({ kind }) => kind === 'returned')
      expect((await store.draws.readDraw(request))?.returned).toBe(isReturned ? 100 : null)
      expect(await countsOf(store, grant)).toMatchObject({ uses: isReturned ? 0 : 1, amount: isReturned ? 0 : 100, draws: 1 })
    }
  }, 120_000)
}

export function cleaningOfDrawsContract(subject: Subject): void {
  const sweep = (store: Store, at: number, limit = 100) => store.cleaning.sweep('grants', { overFor: 100, limit, at })

  test('The rows of draws are deleted with the row of their grant, and not before', async () => {
    const [store, other] = subject().nodes
    const [ended, living] = [await limitedGrant(store), await limitedGrant(store)]
    const keys: DrawKey[] = []
    for (const grant of [ended, living])
      for (let made = 0; made < 3; made++) {
        const request = drawOf(grant)
        await store.draws.draw(request)
        keys.push(request)
      }
    await store.grants.endGrant(ended.id, 'user', NOW + 20)
    const present = async () => (await Promise.all(keys.map((key) => other.draws.readDraw(key)))).map((draw) => draw !== null)
    expect(await sweep(store, NOW + 119)).toBe(0)
    expect(await present()).toEqual([true, true, true, true, true, true])
    expect(await sweep(store, NOW + 120), 'the grant and its draws').toBe(4)
    expect(await present()).toEqual([false, false, false, true, true, true])
    expect(await other.draws.draw(drawOf(ended))).toEqual({ kind: 'inactive' })
    expect(await kindOf(other.draws.giveBack(keys[0] as DrawKey, { amount: 100, at: NOW + 130 }))).toBe('unknown')
  })

  test('One batch deletes grants with a bounded number of draws, and the next batches delete the rest', async () => {
    const [store, other] = subject().nodes
    const grants: NewGrant[] = []
    for (let made = 0; made < 6; made++) {
      const grant = await limitedGrant(store, { uses: 100 })
      await Promise.all(Array.from({ length: 30 }, () => store.draws.draw(drawOf(grant))))
      grants.push(grant)
    }
    const plain = [await livingGrant(store), await livingGrant(store)]
    for (const { id } of [...grants, ...plain]) await store.grants.endGrant(id, 'user', NOW + 20)
    const deleted: number[] = []
    for (;;) {
      const rows = await sweep(store, NOW + 200, 70)
      if (rows === 0) break
      deleted.push(rows)
      const left = (await Promise.all(grants.map(({ id }) => other.draws.listDraws(id, { limit: 100 })))).flat().length
      expect(left % 30, 'no grant lost a part of its draws').toBe(0)
    }
    expect(deleted.reduce((sum, rows) => sum + rows, 0)).toBe(8 + 6 * 30)
    expect(Math.max(...deleted)).toBeLessThan(3 * 31 + 3)
    for (const { id } of grants) expect(await other.draws.listDraws(id, { limit: 10 })).toEqual([])
  })
}

const limits = fc.constantFrom<Limit>(
  { uses: 2 },
  { uses: 3, per: 'day' },
  { uses: 3, per: 'day', unit: 'NESO', decimals: 2, amount: 5, each: 3 },
  { uses: 4, unit: 'NESO', decimals: 0, amount: 4, each: 2 },
)
const keys = fc.constantFrom('key-0', 'key-1', 'key-2', 'key-3', 'key-4')
const amounts = fc.constantFrom(null, 1, 2, 3, 4)
// Around the edges of the periods and the expiry, in any order.
const times = fc
  .constantFrom(-DAY - 1, -1, 0, 1, DAY - 1, DAY, 2 * DAY, 3 * DAY - 1, 3 * DAY, 5 * DAY)
  .map((after) => NOW + after)
const changes = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      change: fc.constant('draw' as const),
      key: keys,
      amount: amounts,
      at: times,
      jti: fc.constantFrom('one', 'one', 'two'),
      resource: fc.constantFrom(RESOURCE, RESOURCE, RESOURCE, 'https://another.example.com/'),
      scopes: fc.constantFrom(['enhancement'], ['profile', 'enhancement'], ['profile']),
    }),
  },
  { weight: 3, arbitrary: fc.record({ change: fc.constant('giveBack' as const), key: keys, amount: amounts, at: times }) },
  { weight: 1, arbitrary: fc.record({ change: fc.constant('revoke' as const), jti: fc.constantFrom('one', 'two') }) },
)

/** One grant and its draws, changed by the functions of the domain alone. */
class DrawModel {
  readonly #draws = new Map<string, Draw>()
  readonly #grant: GrantValidity
  constructor(grant: GrantValidity) {
    this.#grant = { ...grant, revokedTokens: {} }
  }
  draw(request: DrawRequest): DrawOutcome {
    const decision = decideDraw({ grant: this.#grant, draw: this.#draws.get(request.key) ?? null }, request)
    if (decision.change === 'none') return decision.outcome
    this.#draws.set(request.key, decision.draw)
    this.#grant.drawn = decision.drawn
    return { kind: 'drawn', draw: decision.draw, isAgain: false }
  }
  giveBack({ key }: DrawKey, given: DrawReturn): ReturnOutcome {
    const decision = decideReturn(this.#draws.get(key) ?? null, this.#grant.drawn, given)
    if (decision.change === 'none') return decision.outcome
    this.#draws.set(key, decision.draw)
    this.#grant.drawn = decision.drawn ?? this.#grant.drawn
    return { kind: 'returned', draw: decision.draw }
  }
  revoke(jti: string): void {
    this.#grant.revokedTokens[jti] = NOW + 600
  }
  get drawn(): Grant['drawn'] {
    return this.#grant.drawn
  }
}

export function drawRuleContract(subject: Subject): void {
  test('In any sequence of draws, returns and revocations on two nodes, every outcome and the counts equal those of the rule of the domain', async () => {
    await forAllAsync(fc.tuple(limits, fc.array(changes, { minLength: 5, maxLength: 25 })), async ([limit, sequence]) => {
      const { nodes } = subject()
      const grant = await limitedGrant(nodes[0], limit, { expiresAt: NOW + 4 * DAY })
      const model = new DrawModel({ ...grant, endedAt: null, revokedTokens: {}, drawn: null })
      for (const [index, step] of sequence.entries()) {
        const node = nodes[index % 2 === 0 ? 0 : 1]
        if (step.change === 'revoke') {
          const { clientId } = grant
          await node.grants.revokeAccessToken({ grantId: grant.id, clientId, jti: step.jti, expiresAt: NOW + 600, at: NOW })
          model.revoke(step.jti)
          continue
        }
        const { change, ...given } = step
        const request = drawOf(grant, given)
        const outcomes =
          change === 'draw'
            ? [await node.draws.draw(request), model.draw(request)]
            : [await node.draws.giveBack(request, given), model.giveBack(request, given)]
        expect(outcomes[0]).toEqual(outcomes[1])
        expect(await countsOf(node, grant)).toEqual(model.drawn)
      }
    })
  }, 120_000)
}
