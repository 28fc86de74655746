/** The checker for contract wallets: it finds a former owner who is served, and accepts valid histories. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import {
  ALICE,
  active,
  code,
  done,
  emptyHistory,
  type HistoryBuilder,
  historyWithSignIn,
  inactive,
  login,
  lost,
  RULES,
  refused,
  tokens,
} from './history-builder.ts'

const another = tokens(5, { grantId: 'h' })
const ofSigned = tokens(0, { clientId: 'signed app' })
/** The wallet is transferred, and its new owner signs in and gets a code. */
const transferredHistory = () => historyWithSignIn().changeOwner().signIn('app', done, 't').code('d', ALICE, 'app', 't')
const transferredConsent = () => emptyHistory().signIn('signed app').changeOwner().signIn('app', done, 't')

describe('Histories of owners without a violation', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'a transferred wallet whose former owner is refused',
      historyWithSignIn().changeOwner().refresh('r0', refused).introspect('a0', inactive),
    ],
    ['a transferred wallet whose apps have not refreshed since', historyWithSignIn().changeOwner().introspect('a0', active)],
    [
      'a code that the former owner got after the transfer and that is refused',
      historyWithSignIn().changeOwner().code('d').redeem(refused, {}, 'd'),
    ],
    ['a session of the former owner that ends', historyWithSignIn().changeOwner().refresh('r0', refused).authorize('app', login)],
    ['a consent of the former owner that no longer counts', transferredConsent().authorize('signed app', login, 't')],
    [
      'a grant of the new owner',
      transferredHistory()
        .redeem(another, {}, 'd')
        .refresh('r5', tokens(6, { grantId: 'h' })),
    ],
    ['a former owner who is refused', historyWithSignIn().changeOwner().asFormer(refused).asFormer(lost)],
    [
      'a refresh while the RPCs failed',
      historyWithSignIn().changeOwner({ at: 100 }).chainBroken(1000).refresh('r0', tokens(1), { at: 1500 }),
    ],
    [
      'a refresh that shared the check of an earlier one',
      historyWithSignIn()
        .refresh('r0', tokens(1), { at: 90, took: 50 })
        .changeOwner({ at: 100 })
        .refresh('r0', tokens(1), { at: 120 }),
    ],
  ])('A history of owners without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

test.each<[string, HistoryBuilder]>([
  ['a refresh after a transfer', historyWithSignIn().changeOwner().refresh('r0', tokens(1))],
  [
    'a refresh long after the RPCs worked again',
    historyWithSignIn().changeOwner({ at: 100 }).chainBroken(1000).refresh('r0', tokens(1), { at: 6000 }),
  ],
  ['a code of the former owner', historyWithSignIn().code('d').changeOwner().redeem(another, {}, 'd')],
  [
    'a code for the new owner under the former one’s consent',
    transferredConsent().code('c', ALICE, 'signed app', 't').redeem(ofSigned, {}, 'c', 'signed app'),
  ],
  ['a former owner who signs in', historyWithSignIn().changeOwner().asFormer(done)],
])('A former owner of a contract wallet who is served is a violation of I3: %s', (_, { violated }) => {
  expect(violated).toEqual(['I3'])
})

test.each<[string, HistoryBuilder]>([
  ['grant', transferredHistory().redeem(another, {}, 'd').refresh('r5', refused)],
  ['code', transferredHistory().redeem(refused, {}, 'd')],
  ['session', historyWithSignIn().changeOwner().signIn('app', done, 't').authorize('app', login, 't')],
  ['consent', transferredConsent().signIn('signed app', done, 'u').authorize('signed app', login, 'u')],
])('The loss of what the new owner of a contract wallet was granted is a violation of I4: %s', (_, { violated }) => {
  expect(violated).toEqual(['I4'])
})

test('A grant of a former owner that ended and is active again is a violation of I5', () => {
  expect(historyWithSignIn().changeOwner().refresh('r0', refused).introspect('a0', active).violated).toEqual(['I5'])
})

test('The loss of a grant of an owner who was never replaced is a violation of I4', () => {
  expect(historyWithSignIn().refresh('r0', refused).violated).toEqual(['I4'])
  expect(emptyHistory().signIn().authorize('app', code).violated).toEqual([])
})
