/** The judge of contract wallets is tried first: a former owner who is served is found, and honest histories pass. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import { ALICE, active, code, done, held, inactive, login, lost, RULES, refused, type Story, story, tokens } from './stories.ts'

const another = tokens(5, { grantId: 'h' })
const ofSigned = tokens(0, { clientId: 'signed app' })
/** The wallet changes hands, and its new owner signs in and is given a code. */
const handedOver = () => held().changeOwner().signIn('app', done, 't').code('d', ALICE, 'app', 't')
const consented = () => story().signIn('signed app').changeOwner().signIn('app', done, 't')

describe('Histories of owners without a violation', () => {
  test.each<[string, Story]>([
    ['a wallet that changed hands', held().changeOwner().refresh('r0', refused).introspect('a0', inactive)],
    ['one whose apps have not asked since', held().changeOwner().introspect('a0', active)],
    ['a code that its former owner still got', held().changeOwner().code('d').redeem(refused, {}, 'd')],
    ['a session of the former owner that goes', held().changeOwner().refresh('r0', refused).authorize('app', login)],
    ['a consent of the former owner that goes', consented().authorize('signed app', login, 't')],
    [
      'what the new owner allows',
      handedOver()
        .redeem(another, {}, 'd')
        .refresh('r5', tokens(6, { grantId: 'h' })),
    ],
    ['a former owner who is refused', held().changeOwner().asFormer(refused).asFormer(lost)],
    ['a chain that could not be asked', held().changeOwner({ at: 100 }).chainBroken(1000).refresh('r0', tokens(1), { at: 1500 })],
    [
      'a refresh that was told what another one had asked',
      held().refresh('r0', tokens(1), { at: 90, took: 50 }).changeOwner({ at: 100 }).refresh('r0', tokens(1), { at: 120 }),
    ],
  ])('A history of owners without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

test.each<[string, Story]>([
  ['a refresh after the wallet changed hands', held().changeOwner().refresh('r0', tokens(1))],
  [
    'a refresh long after its chain was back',
    held().changeOwner({ at: 100 }).chainBroken(1000).refresh('r0', tokens(1), { at: 6000 }),
  ],
  ['a code of the former owner', held().code('d').changeOwner().redeem(another, {}, 'd')],
  [
    'a code for the new owner under the former one’s consent',
    consented().code('c', ALICE, 'signed app', 't').redeem(ofSigned, {}, 'c', 'signed app'),
  ],
  ['a former owner who signs in', held().changeOwner().asFormer(done)],
])('I3: a former owner of a contract wallet gets nothing: %s', (_, { broken }) => {
  expect(broken).toEqual(['I3'])
})

test.each<[string, Story]>([
  ['grant', handedOver().redeem(another, {}, 'd').refresh('r5', refused)],
  ['code', handedOver().redeem(refused, {}, 'd')],
  ['session', held().changeOwner().signIn('app', done, 't').authorize('app', login, 't')],
  ['consent', consented().signIn('signed app', done, 'u').authorize('signed app', login, 'u')],
])('I4: what the new owner of a contract wallet was granted is kept: %s', (_, { broken }) => {
  expect(broken).toEqual(['I4'])
})

test("I5: a grant that was found to be a former owner's stays ended", () => {
  expect(held().changeOwner().refresh('r0', refused).introspect('a0', active).broken).toEqual(['I5'])
})

test('An owner who was never replaced loses nothing', () => {
  expect(held().refresh('r0', refused).broken).toEqual(['I4'])
  expect(story().signIn().authorize('app', code).broken).toEqual([])
})
