/** The judge is tried first: every kind of violation is found, and an honest history passes. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import { type Asked, RESOURCE_SERVER } from './history.ts'
import {
  ALICE,
  active,
  BOB,
  code,
  done,
  granted,
  inactive,
  login,
  lost,
  ofPublic,
  RULES,
  refused,
  type Story,
  story,
  tokens,
} from './stories.ts'

describe('Histories without a violation', () => {
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
    [
      'a public client retries after its shorter window',
      story()
        .code('c', ALICE, 'public app')
        .redeem(tokens(0, ofPublic), {}, 'c', 'public app')
        .refresh('r0', lost, {}, 'public app')
        .refresh('r0', refused, { at: 11_000 }, 'public app'),
    ],
    ['the resource server asks too', granted().introspect('a0', active, {}, RESOURCE_SERVER)],
    [
      'a consent that is signed, ended, and signed again',
      story()
        .signIn('signed app')
        .authorize('signed app', code)
        .tell('', { op: 'end_app', wallet: ALICE, client: 'signed app' }, done)
        .authorize('signed app', login)
        .signIn('signed app', done, 't')
        .authorize('signed app', { kind: 'code', code: 'd' }, 't'),
    ],
    ['a consent whose signing was lost', story().signIn().signIn('signed app', lost, 't').authorize('signed app', code)],
    ['a session ended from another one', story().signIn().signIn('app', done, 't').endOthers('t').authorize('app', login)],
    ['a session that ended others stays', story().signIn().signIn('app', done, 't').endOthers('s').authorize('app', code)],
    ['a lost ending of everything was done', granted().endEverything(lost).introspect('a0', inactive).refresh('r0', refused)],
    [
      'a session that was signed out before another code',
      story().code().tell('', { op: 'sign_out', wallet: ALICE, session: 's' }, { kind: 'done', already: true }).redeem(),
    ],
  ])('A history without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

describe('I1: a code yields at most one valid grant', () => {
  test('Two redemptions of one code that both return tokens are a violation of I1', () => {
    expect(granted().redeem(tokens(7, { grantId: 'h' }), { at: 1 }).broken).toContain('I1')
  })

  test('A grant that stays valid after its code was presented again is a violation of I1', () => {
    expect(granted().redeem(refused).introspect('a0', active).broken).toEqual(['I3'])
  })
})

describe('I2: a grant has at most one usable refresh token', () => {
  test('Different successors for identical retries are a violation of I2', () => {
    expect(granted().refresh('r0', tokens(1), { at: 20 }).refresh('r0', tokens(2), { at: 21 }).broken).toEqual(['I2'])
  })

  test('A token that still works after its successor was used is a violation of I2', () => {
    expect(granted().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', tokens(1)).broken).toContain('I2')
  })
})

describe('I3: an acknowledged ending holds', () => {
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
  ])('A use after an acknowledged ending is a violation of I3: %s', (_, { broken }) => {
    expect(broken).toContain('I3')
  })

  test.each<[string, Story]>([
    ['active after everything was ended', granted().endEverything().introspect('a0', active)],
    [
      'active for the resource server after a revocation',
      granted().revoke('r0', done).introspect('a0', active, {}, RESOURCE_SERVER),
    ],
    ['a code from before everything was ended', story().code().endEverything().redeem()],
    ['a code from before other sessions were ended', story().code().endOthers('t').redeem()],
    ['a session that gives a code after it was ended by another', story().signIn().endOthers('t').authorize('app', code)],
    ['a session that gives a code after everything was ended', story().signIn().endEverything().authorize('app', code)],
    ['a code without a consent', story().signIn().authorize('signed app', code)],
    [
      'a code under a consent that was withdrawn',
      story()
        .signIn('signed app')
        .tell('', { op: 'end_app', wallet: ALICE, client: 'signed app' }, done)
        .authorize('signed app', code),
    ],
  ])('A use after an acknowledged ending is reported as a violation of I3 and of nothing else: %s', (_, { broken }) => {
    expect(broken).toEqual(['I3'])
  })

  test('A code from before a sign-out that yields a grant is a violation of I3', () => {
    const { entries, broken } = story().code().tell('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).redeem()
    expect([entries.length, broken]).toEqual([3, ['I3']])
  })

  test('A session that yields a code after its sign-out is a violation of I3', () => {
    const signedOut = story().tell('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).code()
    expect(signedOut.broken).toEqual(['I3'])
  })
})

describe('I4: what was acknowledged is kept', () => {
  test.each<[string, Story]>([
    ['an access token that nobody ended', granted().introspect('a0', inactive)],
    ['a leaf that nobody used', granted().refresh('r0', refused)],
    ['the successor of a refresh', granted().refresh('r0', tokens(1)).refresh('r1', refused)],
    ['a code that nobody used', story().code().redeem(refused)],
    ['a grant that another client tried to revoke', granted().revoke('r0', refused, {}, 'other').introspect('a0', inactive)],
  ])('A grant that is lost after its acknowledgement is a violation of I4: %s', (_, { broken }) => {
    expect(broken).toEqual(['I4'])
  })

  test('A session that is gone although nothing ended it is a violation of I4', () => {
    const asked: Asked = { op: 'authorize', wallet: ALICE, session: 's', client: 'app' }
    const gone = story()
      .tell('', { op: 'sign_in', wallet: ALICE, session: 's', client: 'app' }, done)
      .tell('', asked, { kind: 'login' })
    expect(gone.broken).toEqual(['I4'])
  })

  test('A session that is gone although it only ended other sessions is a violation of I4', () => {
    expect(story().signIn().endOthers('s').authorize('app', login).broken).toEqual(['I4'])
  })

  test('A consent that is gone although it was not withdrawn is a violation of I4', () => {
    expect(story().signIn('signed app').endApp(done).authorize('signed app', login).broken).toEqual(['I4'])
  })
})

describe('I5: what was not acknowledged happened completely or not at all', () => {
  test('A refresh without a response that cannot be retried is a violation of I5', () => {
    expect(granted().refresh('r0', lost).refresh('r0', refused).broken).toEqual(['I5'])
  })

  test('One refused refresh among several simultaneous ones is a violation of I5', () => {
    expect(granted().refresh('r0', tokens(1), { at: 20 }).refresh('r0', refused, { at: 21 }).broken).toEqual(['I5'])
  })

  test('A revocation without a response that ended the access token but not the refresh token is a violation of I5', () => {
    expect(granted().revoke('r0', lost).introspect('a0', inactive).refresh('r0', tokens(1)).broken).toEqual(['I5'])
  })

  test('A revocation without a response that ended the refresh token but not the access token is a violation of I5', () => {
    expect(granted().revoke('r0', lost).refresh('r0', refused).introspect('a0', active).broken).toEqual(['I5'])
  })

  test('An ending of everything without a response that ended the grant of one app only is a violation of I5', () => {
    const two = granted()
      .code('d', ALICE, 'other')
      .redeem(tokens(5, { grantId: 'h', clientId: 'other' }), {}, 'd', 'other')
    const half = two
      .endEverything(lost)
      .introspect('a0', inactive)
      .introspect('a5', { ...active, clientId: 'other' }, {}, 'other')
    expect(half.broken).toEqual(['I5'])
  })

  test('A refresh of a public client without a response that cannot be retried within the window is a violation of I5', () => {
    const begun = story().code('c', ALICE, 'public app').redeem(tokens(0, ofPublic), {}, 'c', 'public app')
    const retried = begun.refresh('r0', lost, {}, 'public app').refresh('r0', refused, { at: 7000 }, 'public app')
    expect(retried.broken).toEqual(['I5'])
  })

  test('An ending of an app without a response that ended one of two grants is a violation of I5', () => {
    const two = granted()
      .code('d')
      .redeem(tokens(5, { grantId: 'h' }), {}, 'd')
    expect(two.endApp(lost).introspect('a0', inactive).introspect('a5', active).broken).toEqual(['I5'])
  })
})

describe('I6: no response mixes wallets or clients', () => {
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
  ])('A response with data of another wallet or client is a violation of I6: %s', (_, { broken }) => {
    expect(broken).toContain('I6')
  })
})

test('A response that is not one of the responses of its request is a violation of its own', () => {
  expect(granted().introspect('a0', { kind: 'unexpected', status: 500, body: '' }).broken).toEqual(['defect'])
})
