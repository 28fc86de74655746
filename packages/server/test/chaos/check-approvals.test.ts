/** The checker for approvals: it finds every kind of violation, and accepts valid histories. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import { RESOURCE_SERVER } from './history.ts'
import {
  ALICE,
  asked,
  BOB,
  done,
  type HistoryBuilder,
  historyWithGrant,
  historyWithQuestion,
  historyWithSignature,
  historyWithSignIn,
  lost,
  notUsed,
  RULES,
  refused,
  tokens,
  used,
} from './history-builder.ts'

const ended = notUsed('ended')
const usedBefore = notUsed('already_used')
const answeredBefore = notUsed('answered before')
const historyWithUse = () => historyWithSignature().use('first', used)

describe('Histories of approvals without a violation', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'an approval is used before and after its signature',
      historyWithQuestion().use('first', notUsed('waiting')).sign().use('first', used),
    ],
    ['an attempt is repeated, and another one is refused', historyWithUse().use('first', used).use('second', usedBefore)],
    [
      'simultaneous attempts',
      historyWithSignature().use('first', usedBefore, { at: 40 }).use('second', used, { at: 41 }).use('first', usedBefore),
    ],
    ['an attempt is repeated after an ending', historyWithUse().revoke('r0', done).use('first', used).use('second', usedBefore)],
    ['a lost use took effect', historyWithSignature().use('first', lost).use('second', usedBefore).use('first', used)],
    ['a lost use took effect before an ending', historyWithSignature().use('first', lost).endEverything().use('first', used)],
    ['a lost use did not take effect', historyWithSignature().use('first', lost).use('second', used).use('first', usedBefore)],
    [
      'a lost use did not take effect before an ending',
      historyWithSignature().use('first', lost).endApp(done).use('first', ended),
    ],
    ['a use races with an ending', historyWithSignature().revoke('r0', done, { at: 40 }).use('first', used, { at: 41 })],
    ['a lost ending took effect', historyWithSignature().revoke('r0', lost).use('first', ended)],
    ['a lost ending did not take effect', historyWithSignature().revoke('r0', lost).use('first', used)],
    ['an access token is revoked after the question', historyWithSignature().revoke('a0', done).use('first', used)],
    ['a lost signature took effect', historyWithQuestion().sign(lost).sign(answeredBefore).use('first', used)],
    [
      'a lost signature did not take effect',
      historyWithQuestion().sign(lost).use('first', notUsed('waiting')).sign().use('first', used),
    ],
    ['a declined approval is refused', historyWithQuestion().decline().sign(answeredBefore).use('first', notUsed('declined'))],
    ['a signature precedes a refusal', historyWithQuestion().sign().decline(answeredBefore).use('first', used)],
    [
      'a declined approval of a grant that ended',
      historyWithQuestion().decline().revoke('r0', done).use('first', notUsed('declined')),
    ],
    ['a signed approval expires', historyWithSignature().use('first', notUsed('expired'), { at: 700_000 })],
    [
      'a signed approval expires at a clock that jumped',
      historyWithSignature().use('first', notUsed('expired'), { offset: 600 }),
    ],
    ['the new owner of a contract signs, and the grant ends', historyWithSignIn().ask().sign().changeOwner().use('first', ended)],
    ['an API asks again', historyWithGrant().ask('a0', lost).ask().ask('a0')],
    ['an API asks for an ended grant', historyWithGrant().revoke('r0', done).ask('a0', notUsed('token_inactive'))],
    ['an API asks with a refreshed token', historyWithGrant().ask().refresh('r0', tokens(1)).ask('a1').sign().use('first', used)],
    ['another client is refused', historyWithUse().use('first', notUsed('unknown_approval'), {}, 'other')],
  ])('A history without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

describe('I8: an action is done at most once, and only if the wallet signed it', () => {
  test.each<[string, HistoryBuilder]>([
    ['two attempts, one after the other', historyWithUse().use('second', used)],
    ['two attempts at once', historyWithSignature().use('first', used, { at: 40 }).use('second', used, { at: 41 })],
    ['a repeated attempt with another receipt', historyWithUse().use('first', { ...used, receipt: 'another text for k' })],
    ['a repeated attempt with another time', historyWithUse().use('first', { ...used, usedAt: used.usedAt + 1 })],
    ['no signature', historyWithQuestion().use('first', used)],
    ['a signature that was refused', historyWithQuestion().sign(answeredBefore).use('first', used)],
    ['a signature that comes later', historyWithQuestion().use('first', used).sign(lost)],
    ['an acknowledged refusal', historyWithQuestion().sign(lost).decline().use('first', used)],
    ['a signature after an acknowledged refusal', historyWithQuestion().decline().sign()],
    ['two approvals of one action', historyWithQuestion().ask('a0', { kind: 'asked', approval: 'q' })],
    ['one approval of two actions', historyWithQuestion().ask('a0', asked, {}, 'another')],
  ])(
    'A use without its own signature, or a second one, is reported as a violation of I8 and of nothing else: %s',
    (_, { violated }) => {
      expect(violated).toEqual(['I8'])
    },
  )
})

describe('I3: nothing is asked for or used after an acknowledged ending', () => {
  test.each<[string, HistoryBuilder]>([
    ['used after a revocation', historyWithSignature().revoke('r0', done).use('first', used)],
    ['used after its app was ended', historyWithSignature().endApp(done).use('first', used)],
    ['used after everything was ended', historyWithSignature().endEverything().use('first', used)],
    ['used after a second redemption was refused', historyWithSignature().redeem(refused).use('first', used)],
    ['signed and used after an ending', historyWithQuestion().revoke('r0', done).sign().use('first', used)],
    [
      'used after an ending by an attempt that was refused before it',
      historyWithQuestion().use('first', notUsed('waiting')).sign().revoke('r0', done).use('first', used),
    ],
    [
      'used after an ending by another attempt than the one before it',
      historyWithSignature().use('first', lost).revoke('r0', done).use('second', used),
    ],
    ['asked for after a revocation', historyWithGrant().revoke('r0', done).ask()],
    ['asked for again after a revocation', historyWithQuestion().revoke('r0', done).ask()],
    ['asked for after the revocation of the access token', historyWithGrant().revoke('a0', done).ask()],
  ])('An approval that outlives its grant is reported as a violation of I3 and of nothing else: %s', (_, { violated }) => {
    expect(violated).toEqual(['I3'])
  })
})

describe('I4 and I5: what was acknowledged is kept, and a use without a response can be repeated', () => {
  test.each<[string, HistoryBuilder]>([
    ['a signature is gone', historyWithSignature().use('first', notUsed('waiting'))],
    ['a signature is gone, after an ending too', historyWithSignature().revoke('r0', done).use('first', notUsed('waiting'))],
    ['a signature became a refusal', historyWithSignature().use('first', notUsed('declined'))],
    ['the approval is gone', historyWithSignature().use('first', notUsed('unknown_approval'))],
    ['a signed approval expires early', historyWithSignature().use('first', notUsed('expired'))],
    ['the grant has ended without an ending', historyWithSignature().use('first', ended)],
    ['a refusal is gone', historyWithQuestion().decline().use('first', notUsed('waiting'))],
    ['a use is gone', historyWithUse().revoke('r0', done).use('first', ended)],
    ['another attempt took a use over', historyWithUse().use('second', lost).use('first', usedBefore)],
  ])(
    'An answer or a use that is lost after its acknowledgement is reported as a violation of I4 and of nothing else: %s',
    (_, { violated }) => {
      expect(violated).toEqual(['I4'])
    },
  )

  test('A use without a response that is refused to its own attempt is a violation of I5', () => {
    expect(historyWithSignature().use('first', lost).use('first', usedBefore).violated).toEqual(['I5'])
  })
})

describe('I6: a receipt belongs to its wallet and to its action', () => {
  test.each<[string, HistoryBuilder]>([
    ['of another wallet', historyWithSignature().use('first', { ...used, address: BOB })],
    ['of another approval', historyWithSignature().use('first', { ...used, approval: 'q' })],
    ['of another action', historyWithSignature().use('first', { ...used, receipt: `signed by ${ALICE}` })],
    ['for another client', historyWithSignature().use('first', used, {}, 'other')],
  ])(
    'A receipt with data of another wallet, action or client is reported as a violation of I6 and of nothing else: %s',
    (_, { violated }) => {
      expect(violated).toEqual(['I6'])
    },
  )

  test('The API that asked and another client are different callers', () => {
    expect(historyWithSignature().use('first', lost, {}, 'other').use('first', usedBefore, {}, RESOURCE_SERVER).violated).toEqual(
      ['I5'],
    )
  })
})
