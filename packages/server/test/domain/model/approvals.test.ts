/** The rules of approvals. The store's contract compares each engine with the outcomes of an answer and a use. */
import { expect, test } from 'vitest'
import type { Approval, AskedBefore } from '../../../src/domain/model/approval-store.ts'
import {
  ASKED_AT_MOST,
  DECLINED_AT_MOST,
  decideAnswer,
  decideAsk,
  decideUse,
  WAITING_OF_GRANT_AT_MOST,
  WAITING_OF_WALLET_AT_MOST,
} from '../../../src/domain/model/approvals.ts'

const NOW = 1_800_000_000
const NOTHING: AskedBefore = { waiting: 0, asked: 0, firstAskedAt: 0, declined: 0, lastDeclinedAt: 0, isLast: false }

const decide = (asked: Partial<AskedBefore>, walletWaiting = 0, at = NOW) =>
  decideAsk({ ...NOTHING, ...asked }, { walletWaiting, at })

test('An app may ask if nothing was asked before, and with one less than each bound', () => {
  expect(decide({})).toBe('allowed')
  const most = { waiting: WAITING_OF_GRANT_AT_MOST - 1, asked: ASKED_AT_MOST - 1, firstAskedAt: NOW - 10 }
  expect(decide({ ...most, declined: DECLINED_AT_MOST - 1, lastDeclinedAt: NOW - 1 }, WAITING_OF_WALLET_AT_MOST - 1)).toBe(
    'allowed',
  )
})

test('Five approvals of a grant, or twenty of a wallet, wait at most, and the app asks again a minute later', () => {
  expect(decide({ waiting: 5 })).toEqual({ reason: 'waiting', retryAfter: 60 })
  expect(decide({ waiting: 1 }, 20)).toEqual({ reason: 'wallet_waiting', retryAfter: 60 })
})

test('The sixty-first approval of a grant within an hour is refused until the first of them was an hour ago', () => {
  const asked = { asked: 60, firstAskedAt: NOW - 600 }
  expect(decide(asked)).toEqual({ reason: 'hourly', retryAfter: 3000 })
  expect(decide(asked, 0, NOW + 2999)).toEqual({ reason: 'hourly', retryAfter: 1 })
  expect(decide({ ...asked, firstAskedAt: NOW - 3601 }), 'the time of the count was earlier').toEqual({
    reason: 'hourly',
    retryAfter: 1,
  })
})

test('If the user declines twice within an hour, the grant pauses until an hour after the last time', () => {
  const declined = { declined: 2, lastDeclinedAt: NOW }
  expect(decide(declined)).toEqual({ reason: 'declined_twice', retryAfter: 3600 })
  expect(decide(declined, 0, NOW + 3599)).toEqual({ reason: 'declined_twice', retryAfter: 1 })
  expect(decide(declined, 0, NOW + 3600)).toBe('allowed')
})

test('A user who wants no more questions from a grant is not asked again, whatever the other bounds are', () => {
  const last = { reason: 'last', retryAfter: null }
  expect(decide({ isLast: true })).toEqual(last)
  expect(decide({ isLast: true, waiting: 9, asked: 99, declined: 9, lastDeclinedAt: NOW }, 99)).toEqual(last)
})

const SIGNED: Approval = {
  grantId: 'grant',
  id: 'approval',
  clientId: 'api',
  apps: ['app'],
  wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  scope: 'transfer',
  summary: 'Send 1 USDC',
  digest: 'digest',
  userCode: 'WDJBMJHT',
  expiresAt: NOW + 600,
  askedAt: NOW,
  answeredAt: NOW + 10,
  receiptId: 'receipt',
  isLast: false,
  usedAt: null,
}
const USE = { clientId: 'api', attemptId: 'attempt', signedFor: 600, at: NOW + 20 }
const CHANGED = { change: 'use' }

test('A signed approval is used if its grant is alive, until it was signed too long ago', () => {
  const found = { approval: SIGNED, usedBy: null, isAlive: true }
  const refused = { change: 'none', outcome: { kind: 'not_usable', approval: SIGNED } }
  expect(decideUse(found, USE)).toEqual(CHANGED)
  expect(decideUse(found, { ...USE, at: NOW + 609 })).toEqual(CHANGED)
  expect(decideUse(found, { ...USE, at: NOW + 610 })).toEqual(refused)
  expect(decideUse({ ...found, isAlive: false }, USE)).toEqual(refused)
})

test('The attempt that used an approval gets its result again from a dead grant, and another API learns nothing of the approval', () => {
  const used = { approval: { ...SIGNED, usedAt: NOW + 20 }, usedBy: 'attempt', isAlive: false }
  const outcomeOf = (use: Partial<typeof USE>) => decideUse(used, { ...USE, ...use })
  expect(outcomeOf({ at: NOW + 9999 })).toEqual({ change: 'none', outcome: { kind: 'used', approval: used.approval } })
  expect(outcomeOf({ attemptId: 'another' })).toEqual({ change: 'none', outcome: { kind: 'used_before' } })
  expect(outcomeOf({ clientId: 'another' })).toEqual({ change: 'none', outcome: { kind: 'unknown' } })
  expect(decideUse(null, USE)).toEqual({ change: 'none', outcome: { kind: 'unknown' } })
})

test('The first answer in time is stored, the same answer is answered again, and any other one came too late', () => {
  const waiting: Approval = { ...SIGNED, answeredAt: null, receiptId: null }
  const answer = { receiptId: 'receipt', isLast: false, at: NOW + 599 }
  const declined = { receiptId: null, isLast: false, at: NOW + 599 }
  expect(decideAnswer(waiting, answer)).toEqual({ change: 'answer' })
  expect(decideAnswer(waiting, { ...answer, at: NOW + 600 })).toEqual({ change: 'none', outcome: 'too_late' })
  expect(decideAnswer(SIGNED, { ...answer, at: NOW + 9999 })).toEqual({ change: 'none', outcome: 'answered' })
  expect(decideAnswer(SIGNED, { ...answer, receiptId: 'other' })).toEqual({ change: 'none', outcome: 'answered_before' })
  expect(decideAnswer(SIGNED, declined)).toEqual({ change: 'none', outcome: 'answered_before' })
  expect(decideAnswer({ ...SIGNED, receiptId: null }, declined)).toEqual({ change: 'none', outcome: 'answered' })
  expect(decideAnswer({ ...SIGNED, receiptId: null }, { ...declined, isLast: true })).toEqual({
    change: 'none',
    outcome: 'answered_before',
  })
  expect(decideAnswer(null, answer)).toEqual({ change: 'none', outcome: 'unknown' })
})
