/** The checker itself: it finds every kind of violation, and accepts valid histories. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import { RESOURCE_SERVER, type RecordedRequest } from './history.ts'
import {
  ALICE,
  active,
  BOB,
  code,
  done,
  emptyHistory,
  type HistoryBuilder,
  historyWithGrant,
  inactive,
  login,
  lost,
  ofPublic,
  RULES,
  refused,
  tokens,
} from './history-builder.ts'

describe('Histories without a violation', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'refreshes and introspections',
      historyWithGrant().introspect('a0', active).refresh('r0', tokens(1)).introspect('a1', active).introspect('a0', active),
    ],
    [
      'a race for a code ends the grant',
      historyWithGrant().redeem(refused, { at: 10 }).introspect('a0', inactive).refresh('r0', refused),
    ],
    [
      'simultaneous refreshes get one successor',
      historyWithGrant().refresh('r0', tokens(1), { at: 20 }).refresh('r0', tokens(1), { at: 21 }),
    ],
    ['a lost refresh is retried', historyWithGrant().refresh('r0', lost).refresh('r0', tokens(1)).introspect('a1', active)],
    ['a lost redemption took effect', emptyHistory().code().redeem(lost).redeem(refused)],
    ['a lost redemption did not take effect', emptyHistory().code().redeem(lost).redeem(tokens(0)).introspect('a0', active)],
    ['a lost revocation took effect', historyWithGrant().revoke('r0', lost).introspect('a0', inactive).refresh('r0', refused)],
    [
      'a lost revocation did not take effect',
      historyWithGrant().revoke('r0', lost).introspect('a0', active).refresh('r0', tokens(1)),
    ],
    ['an access token expires', historyWithGrant().introspect('a0', inactive, { at: 600_000 })],
    ['an access token has expired by a clock that is ahead', historyWithGrant().introspect('a0', inactive, { offset: 600 })],
    [
      'one access token is revoked',
      historyWithGrant().revoke('a0', done).introspect('a0', inactive).refresh('r0', tokens(1)).introspect('a1', active),
    ],
    [
      'a retry after the window ends the grant',
      historyWithGrant().refresh('r0', lost).refresh('r0', refused, { at: 61_000 }).introspect('a0', inactive),
    ],
    [
      'a retry at a clock that jumped ends the grant',
      historyWithGrant().refresh('r0', lost).refresh('r0', refused, { offset: -600 }),
    ],
    [
      'a replay ends the grant',
      historyWithGrant().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', refused).introspect('a2', inactive),
    ],
    [
      'another client is refused',
      historyWithGrant().introspect('a0', inactive, {}, 'other').refresh('r0', refused, {}, 'other').introspect('a0', active),
    ],
    ['a code from before an ending is refused', emptyHistory().code().endApp(done).redeem(refused)],
    [
      'a public client retries after its shorter window',
      emptyHistory()
        .code('c', ALICE, 'public app')
        .redeem(tokens(0, ofPublic), {}, 'c', 'public app')
        .refresh('r0', lost, {}, 'public app')
        .refresh('r0', refused, { at: 11_000 }, 'public app'),
    ],
    ['the resource server introspects', historyWithGrant().introspect('a0', active, {}, RESOURCE_SERVER)],
    [
      'a consent that is signed, ended, and signed again',
      emptyHistory()
        .signIn('signed app')
        .authorize('signed app', code)
        .record('', { op: 'end_app', wallet: ALICE, client: 'signed app' }, done)
        .authorize('signed app', login)
        .signIn('signed app', done, 't')
        .authorize('signed app', { kind: 'code', code: 'd' }, 't'),
    ],
    [
      'a signed consent whose response was lost',
      emptyHistory().signIn().signIn('signed app', lost, 't').authorize('signed app', code),
    ],
    ['a signed consent behind as many newer receipts as are read', historyWithNewerReceipts(3)],
    ['a session ended from another one', emptyHistory().signIn().signIn('app', done, 't').endOthers('t').authorize('app', login)],
    ['a session that ended others stays', emptyHistory().signIn().signIn('app', done, 't').endOthers('s').authorize('app', code)],
    [
      'a lost ending of everything took effect',
      historyWithGrant().endEverything(lost).introspect('a0', inactive).refresh('r0', refused),
    ],
    [
      'a session that was signed out before another code',
      emptyHistory().code().record('', { op: 'sign_out', wallet: ALICE, session: 's' }, { kind: 'done', already: true }).redeem(),
    ],
  ])('A history without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

describe('I1: a code yields at most one valid grant', () => {
  test('Two redemptions of one code that both return tokens are a violation of I1', () => {
    expect(historyWithGrant().redeem(tokens(7, { grantId: 'h' }), { at: 1 }).violated).toContain('I1')
  })

  test('A grant that stays valid after its code was presented again is a violation of I3', () => {
    expect(historyWithGrant().redeem(refused).introspect('a0', active).violated).toEqual(['I3'])
  })
})

describe('I2: a grant has at most one usable refresh token', () => {
  test('Different successors for identical retries are a violation of I2', () => {
    expect(historyWithGrant().refresh('r0', tokens(1), { at: 20 }).refresh('r0', tokens(2), { at: 21 }).violated).toEqual(['I2'])
  })

  test('A token that still works after its successor was used is a violation of I2', () => {
    expect(historyWithGrant().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', tokens(1)).violated).toContain('I2')
  })
})

describe('I3: an acknowledged ending holds', () => {
  test.each<[string, HistoryBuilder]>([
    ['active after a revocation', historyWithGrant().revoke('r0', done).introspect('a0', active)],
    [
      'active after a revocation by an older refresh token',
      historyWithGrant().refresh('r0', tokens(1)).revoke('r0', done).introspect('a1', active),
    ],
    ['refreshed after a revocation', historyWithGrant().revoke('r0', done).refresh('r0', tokens(1))],
    ['an access token active after its own revocation', historyWithGrant().revoke('a0', done).introspect('a0', active)],
    ['active after the app was ended', historyWithGrant().endApp(done).introspect('a0', active)],
    ['a code from before the ending that gives a grant', emptyHistory().code().endApp(done).redeem()],
    [
      'active after a replay was refused',
      historyWithGrant().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', refused).introspect('a2', active),
    ],
    ['refreshed after a race for the code', historyWithGrant().redeem(refused, { at: 9 }).refresh('r0', tokens(1))],
    [
      'active after a revocation at a clock that was ahead',
      historyWithGrant().revoke('r0', done, { offset: 600 }).introspect('a0', active),
    ],
  ])('A use after an acknowledged ending is a violation of I3: %s', (_, { violated }) => {
    expect(violated).toContain('I3')
  })

  test.each<[string, HistoryBuilder]>([
    ['active after everything was ended', historyWithGrant().endEverything().introspect('a0', active)],
    [
      'active for the resource server after a revocation',
      historyWithGrant().revoke('r0', done).introspect('a0', active, {}, RESOURCE_SERVER),
    ],
    ['a code from before everything was ended gives a grant', emptyHistory().code().endEverything().redeem()],
    ['a code from before other sessions were ended gives a grant', emptyHistory().code().endOthers('t').redeem()],
    ['a session that gives a code after it was ended by another', emptyHistory().signIn().endOthers('t').authorize('app', code)],
    ['a session that gives a code after everything was ended', emptyHistory().signIn().endEverything().authorize('app', code)],
    ['a code without a consent', emptyHistory().signIn().authorize('signed app', code)],
    [
      'a code under a consent that was withdrawn',
      emptyHistory()
        .signIn('signed app')
        .record('', { op: 'end_app', wallet: ALICE, client: 'signed app' }, done)
        .authorize('signed app', code),
    ],
  ])('A use after an acknowledged ending is reported as a violation of I3 and of nothing else: %s', (_, { violated }) => {
    expect(violated).toEqual(['I3'])
  })

  test('A code from before a sign-out that yields a grant is a violation of I3', () => {
    const { entries, violated } = emptyHistory().code().record('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).redeem()
    expect([entries.length, violated]).toEqual([3, ['I3']])
  })

  test('A session that yields a code after its sign-out is a violation of I3', () => {
    const signedOut = emptyHistory().record('', { op: 'sign_out', wallet: ALICE, session: 's' }, done).code()
    expect(signedOut.violated).toEqual(['I3'])
  })
})

describe('I4: what was acknowledged is kept', () => {
  test.each<[string, HistoryBuilder]>([
    ['an access token that was not ended', historyWithGrant().introspect('a0', inactive)],
    ['a refresh token that was not used', historyWithGrant().refresh('r0', refused)],
    ['the successor of a refresh', historyWithGrant().refresh('r0', tokens(1)).refresh('r1', refused)],
    ['a code that was not used', emptyHistory().code().redeem(refused)],
    [
      'a grant that another client tried to revoke',
      historyWithGrant().revoke('r0', refused, {}, 'other').introspect('a0', inactive),
    ],
  ])('A grant that is lost after its acknowledgement is a violation of I4: %s', (_, { violated }) => {
    expect(violated).toEqual(['I4'])
  })

  test('A session that is gone although nothing ended it is a violation of I4', () => {
    const request: RecordedRequest = { op: 'authorize', wallet: ALICE, session: 's', client: 'app' }
    const gone = emptyHistory()
      .record('', { op: 'sign_in', wallet: ALICE, session: 's', client: 'app' }, done)
      .record('', request, { kind: 'login' })
    expect(gone.violated).toEqual(['I4'])
  })

  test('A session that is gone although it only ended other sessions is a violation of I4', () => {
    expect(emptyHistory().signIn().endOthers('s').authorize('app', login).violated).toEqual(['I4'])
  })

  test('A consent that is gone although it is among the receipts that are read is a violation of I4', () => {
    expect(historyWithNewerReceipts(2).violated).toEqual(['I4'])
  })

  test('A consent that is gone although it was not withdrawn is a violation of I4', () => {
    expect(emptyHistory().signIn('signed app').endApp(done).authorize('signed app', login).violated).toEqual(['I4'])
  })
})

describe('I5: what was not acknowledged happened completely or not at all', () => {
  test('A refresh without a response that cannot be retried is a violation of I5', () => {
    expect(historyWithGrant().refresh('r0', lost).refresh('r0', refused).violated).toEqual(['I5'])
  })

  test('One refused refresh among several simultaneous ones is a violation of I5', () => {
    expect(historyWithGrant().refresh('r0', tokens(1), { at: 20 }).refresh('r0', refused, { at: 21 }).violated).toEqual(['I5'])
  })

  test('A revocation without a response that ended the access token but not the refresh token is a violation of I5', () => {
    expect(historyWithGrant().revoke('r0', lost).introspect('a0', inactive).refresh('r0', tokens(1)).violated).toEqual(['I5'])
  })

  test('A revocation without a response that ended the refresh token but not the access token is a violation of I5', () => {
    expect(historyWithGrant().revoke('r0', lost).refresh('r0', refused).introspect('a0', active).violated).toEqual(['I5'])
  })

  test('An ending of everything without a response that ended the grant of one app only is a violation of I5', () => {
    const two = historyWithGrant()
      .code('d', ALICE, 'other')
      .redeem(tokens(5, { grantId: 'h', clientId: 'other' }), {}, 'd', 'other')
    const half = two
      .endEverything(lost)
      .introspect('a0', inactive)
      .introspect('a5', { ...active, clientId: 'other' }, {}, 'other')
    expect(half.violated).toEqual(['I5'])
  })

  test('A refresh of a public client without a response that cannot be retried within the window is a violation of I5', () => {
    const begun = emptyHistory().code('c', ALICE, 'public app').redeem(tokens(0, ofPublic), {}, 'c', 'public app')
    const retried = begun.refresh('r0', lost, {}, 'public app').refresh('r0', refused, { at: 7000 }, 'public app')
    expect(retried.violated).toEqual(['I5'])
  })

  test('An ending of an app without a response that ended one of two grants is a violation of I5', () => {
    const two = historyWithGrant()
      .code('d')
      .redeem(tokens(5, { grantId: 'h' }), {}, 'd')
    expect(two.endApp(lost).introspect('a0', inactive).introspect('a5', active).violated).toEqual(['I5'])
  })
})

describe('I6: no response mixes wallets or clients', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'tokens of another wallet',
      emptyHistory()
        .code()
        .redeem(tokens(0, { sub: BOB })),
    ],
    [
      'tokens of another client',
      emptyHistory()
        .code()
        .redeem(tokens(0, { clientId: 'other' })),
    ],
    ['an introspection that returns another wallet', historyWithGrant().introspect('a0', { ...active, sub: BOB })],
    ['an introspection by another client that is active', historyWithGrant().introspect('a0', active, {}, 'other')],
    ['a refresh by another client that succeeds', historyWithGrant().refresh('r0', tokens(1), {}, 'other')],
    ['two codes with one grant', historyWithGrant().code('d').redeem(tokens(5), {}, 'd')],
    [
      'two codes with one token',
      historyWithGrant()
        .code('d')
        .redeem(tokens(0, { grantId: 'h' }), {}, 'd'),
    ],
    ['a refresh that returns another grant', historyWithGrant().refresh('r0', tokens(1, { grantId: 'h' }))],
  ])('A response with data of another wallet or client is a violation of I6: %s', (_, { violated }) => {
    expect(violated).toContain('I6')
  })
})

test('A response that is not one of the responses of its request is a violation of its own', () => {
  expect(historyWithGrant().introspect('a0', { kind: 'unexpected', status: 500, body: '' }).violated).toEqual(['defect'])
})

/** A consent, `count` signatures over limits at the same app, and a request that leads to the login. */
function historyWithNewerReceipts(count: number): HistoryBuilder {
  const history = emptyHistory().signIn('signed app')
  for (let left = count; left > 0; left--) history.signLimit('signed app', lost)
  return history.authorize('signed app', login)
}
