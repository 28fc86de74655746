/** The judge is tried first: every kind of violation is found, and an honest history passes. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import type { Asked, Entry, Tokens, Told } from './history.ts'

const RULES = { codeLifetime: 60, refreshRetryWindow: 60, settling: 50 }
const START = 1_800_000_000_000
const ALICE = '0xA11cE'
const BOB = '0xB0b'

/** A history in the making: each call is one request after the other, unless it says when. */
class Story {
  readonly entries: Entry[] = []
  #time = START

  /** `at` and `took` in milliseconds since the start; one after the other where absent */
  tell(
    caller: string,
    asked: Asked,
    told: Told,
    { at, took = 5, offset = 0 }: { at?: number; took?: number; offset?: number } = {},
  ): this {
    const begin = at === undefined ? this.#time + 1 : START + at
    const end = begin + took
    this.#time = Math.max(this.#time, end)
    this.entries.push({ node: 'node', caller, asked, told, begin, end, offset: [offset, offset] })
    return this
  }

  code(code = 'c', wallet = ALICE, client = 'app'): this {
    return this.tell('', { op: 'authorize', wallet, session: 's', client }, { kind: 'code', code })
  }

  redeem(told: Told = tokens(0), when = {}, code = 'c', caller = 'app'): this {
    return this.tell(caller, { op: 'redeem', code }, told, when)
  }

  refresh(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'refresh', token }, told, when)
  }

  introspect(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'introspect', token }, told, when)
  }

  revoke(token: string, told: Told, when = {}, caller = 'app'): this {
    return this.tell(caller, { op: 'revoke', token }, told, when)
  }

  endApp(told: Told, when = {}): this {
    return this.tell('', { op: 'end_app', wallet: ALICE, client: 'app' }, told, when)
  }

  /** the invariants that are broken, each once, in order of their names */
  get broken(): string[] {
    return [...new Set(checkHistory(this.entries, RULES).map(({ invariant }) => invariant))].sort()
  }
}

function tokens(generation: number, more: Partial<Tokens> = {}): Tokens {
  return {
    kind: 'tokens',
    access: `a${generation}`,
    refresh: `r${generation}`,
    sub: ALICE,
    clientId: 'app',
    grantId: 'g',
    expiresAt: START / 1000 + 600,
    ...more,
  }
}

const refused: Told = { kind: 'refused', error: 'invalid_grant' }
const lost: Told = { kind: 'lost', why: 'ECONNRESET' }
const done: Told = { kind: 'done' }
const active: Told = { kind: 'active', sub: ALICE, clientId: 'app' }
const inactive: Told = { kind: 'inactive' }

const story = () => new Story()
const granted = () => story().code().redeem()

describe('an honest history passes', () => {
  test.each<[string, Story]>([
    [
      'a plain life',
      granted().introspect('a0', active).refresh('r0', tokens(1)).introspect('a1', active).introspect('a0', active),
    ],
    ['a race for a code ends the grant', granted().redeem(refused, { at: 10 }).introspect('a0', inactive).refresh('r0', refused)],
    [
      'simultaneous refreshes get one successor',
      granted().refresh('r0', tokens(1), { at: 20 }).refresh('r0', tokens(1), { at: 21 }),
    ],
    ['a lost refresh is retried', granted().refresh('r0', lost).refresh('r0', tokens(1)).introspect('a1', active)],
    ['a lost redemption was done', story().code().redeem(lost).redeem(refused)],
    ['a lost redemption was not done', story().code().redeem(lost).redeem(tokens(0)).introspect('a0', active)],
    ['a lost revocation was done', granted().revoke('r0', lost).introspect('a0', inactive).refresh('r0', refused)],
    ['a lost revocation was not done', granted().revoke('r0', lost).introspect('a0', active).refresh('r0', tokens(1))],
    ['an access token expires', granted().introspect('a0', inactive, { at: 600_000 })],
    ['a clock ahead sees it expired', granted().introspect('a0', inactive, { offset: 600 })],
    [
      'one access token is revoked',
      granted().revoke('a0', done).introspect('a0', inactive).refresh('r0', tokens(1)).introspect('a1', active),
    ],
    [
      'a retry after the window ends the grant',
      granted().refresh('r0', lost).refresh('r0', refused, { at: 61_000 }).introspect('a0', inactive),
    ],
    ['a retry by a clock that jumped ends the grant', granted().refresh('r0', lost).refresh('r0', refused, { offset: -600 })],
    [
      'a replay ends the grant',
      granted().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', refused).introspect('a2', inactive),
    ],
    [
      'another client learns nothing',
      granted().introspect('a0', inactive, {}, 'other').refresh('r0', refused, {}, 'other').introspect('a0', active),
    ],
    ['a code from before an ending is void', story().code().endApp(done).redeem(refused)],
  ])('%s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

describe('I1, a code yields at most one living grant:', () => {
  test('two redemptions that were both answered with tokens', () => {
    expect(granted().redeem(tokens(7, { grantId: 'h' }), { at: 1 }).broken).toContain('I1')
  })

  test('a grant that lives on after its code was presented again', () => {
    expect(granted().redeem(refused).introspect('a0', active).broken).toEqual(['I3'])
  })
})

describe('I2, at most one live refresh leaf:', () => {
  test('different successors for identical retries', () => {
    expect(granted().refresh('r0', tokens(1), { at: 20 }).refresh('r0', tokens(2), { at: 21 }).broken).toEqual(['I2'])
  })

  test('a token that still works after its successor was used', () => {
    expect(granted().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', tokens(1)).broken).toContain('I2')
  })
})

describe('I3, an acknowledged ending holds:', () => {
  test.each<[string, Story]>([
    ['active after a revocation', granted().revoke('r0', done).introspect('a0', active)],
    [
      'active after a revocation by an older refresh token',
      granted().refresh('r0', tokens(1)).revoke('r0', done).introspect('a1', active),
    ],
    ['refreshed after a revocation', granted().revoke('r0', done).refresh('r0', tokens(1))],
    ['an access token revoked alone', granted().revoke('a0', done).introspect('a0', active)],
    ['active after the app was ended', granted().endApp(done).introspect('a0', active)],
    ['a code from before the ending that gives a grant', story().code().endApp(done).redeem()],
    [
      'active after a replay was refused',
      granted().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', refused).introspect('a2', active),
    ],
    ['refreshed after a race for the code', granted().redeem(refused, { at: 9 }).refresh('r0', tokens(1))],
    ['active again when a clock came back', granted().revoke('r0', done, { offset: 600 }).introspect('a0', active)],
  ])('%s', (_, { broken }) => {
    expect(broken).toContain('I3')
  })

  test('a code from before a sign-out that gives a grant', () => {
    const { entries, broken } = story().code().tell('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).redeem()
    expect([entries.length, broken]).toEqual([3, ['I3']])
  })

  test('a session that gives a code after it was signed out', () => {
    const signedOut = story().tell('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).code()
    expect(signedOut.broken).toEqual(['I3'])
  })
})

describe('I4, what was acknowledged survives:', () => {
  test.each<[string, Story]>([
    ['an access token that nobody ended', granted().introspect('a0', inactive)],
    ['a leaf that nobody used', granted().refresh('r0', refused)],
    ['the successor of a refresh', granted().refresh('r0', tokens(1)).refresh('r1', refused)],
    ['a code that nobody used', story().code().redeem(refused)],
    ['a grant that another client tried to revoke', granted().revoke('r0', refused, {}, 'other').introspect('a0', inactive)],
  ])('%s', (_, { broken }) => {
    expect(broken).toEqual(['I4'])
  })

  test('a session that nobody ended', () => {
    const asked: Asked = { op: 'authorize', wallet: ALICE, session: 's', client: 'app' }
    const gone = story().tell('', { op: 'sign_in', wallet: ALICE, session: 's' }, done).tell('', asked, { kind: 'login' })
    expect(gone.broken).toEqual(['I4'])
  })
})

describe('I5, what was not acknowledged is wholly there or wholly not:', () => {
  test('a lost refresh that cannot be retried', () => {
    expect(granted().refresh('r0', lost).refresh('r0', refused).broken).toEqual(['I5'])
  })

  test('one of several simultaneous refreshes that is refused', () => {
    expect(granted().refresh('r0', tokens(1), { at: 20 }).refresh('r0', refused, { at: 21 }).broken).toEqual(['I5'])
  })

  test('a lost revocation that ended the token, but not the refreshing', () => {
    expect(granted().revoke('r0', lost).introspect('a0', inactive).refresh('r0', tokens(1)).broken).toEqual(['I5'])
  })

  test('a lost revocation that ended the refreshing, but not the token', () => {
    expect(granted().revoke('r0', lost).refresh('r0', refused).introspect('a0', active).broken).toEqual(['I5'])
  })

  test('a lost ending of an app that ended one grant, and another not', () => {
    const two = granted()
      .code('d')
      .redeem(tokens(5, { grantId: 'h' }), {}, 'd')
    expect(two.endApp(lost).introspect('a0', inactive).introspect('a5', active).broken).toEqual(['I5'])
  })
})

describe('I6, no answer mixes two wallets or clients:', () => {
  test.each<[string, Story]>([
    [
      'tokens of another wallet',
      story()
        .code()
        .redeem(tokens(0, { sub: BOB })),
    ],
    [
      'tokens of another client',
      story()
        .code()
        .redeem(tokens(0, { clientId: 'other' })),
    ],
    ['an introspection that tells of another wallet', granted().introspect('a0', { ...active, sub: BOB })],
    ['an introspection that tells another client', granted().introspect('a0', active, {}, 'other')],
    ['a refresh by another client', granted().refresh('r0', tokens(1), {}, 'other')],
    ['two codes with one grant', granted().code('d').redeem(tokens(5), {}, 'd')],
    [
      'two codes with one token',
      granted()
        .code('d')
        .redeem(tokens(0, { grantId: 'h' }), {}, 'd'),
    ],
    ['a refresh that leads to another grant', granted().refresh('r0', tokens(1, { grantId: 'h' }))],
  ])('%s', (_, { broken }) => {
    expect(broken).toContain('I6')
  })
})

test('an answer that is none of those a request may get is a violation of its own', () => {
  expect(granted().introspect('a0', { kind: 'unexpected', status: 500, body: '' }).broken).toEqual(['defect'])
})
