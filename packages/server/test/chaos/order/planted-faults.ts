/** Histories that no order of their requests explains. */
import {
  active,
  emptyHistory,
  type HistoryBuilder,
  historyWithGrant,
  inactive,
  lost,
  refused,
  tokens,
} from '../history-builder.ts'

const done = { kind: 'done' as const }

export const PLANTED_FAULTS: readonly (readonly [fault: string, HistoryBuilder])[] = [
  [
    'two refreshes of one token get different successors',
    historyWithGrant().refresh('r0', tokens(1), { at: 20, took: 9 }).refresh('r0', tokens(2), { at: 21, took: 9 }),
  ],
  ['a retry gets another successor', historyWithGrant().refresh('r0', lost).refresh('r0', tokens(1)).refresh('r0', tokens(2))],
  [
    'a token works after its successor was used',
    historyWithGrant().refresh('r0', tokens(1)).refresh('r1', tokens(2)).refresh('r0', tokens(1)),
  ],
  ['a grant is active after an acknowledged revocation', historyWithGrant().revoke('r0', done).introspect('a0', active)],
  ['a grant is active after its app ended', historyWithGrant().endApp(done).introspect('a0', active)],
  ['a code gives tokens after everything ended', emptyHistory().code().endEverything().redeem()],
  ['a code gives tokens twice', historyWithGrant().redeem(tokens(5))],
  ['a grant has ended without a cause', historyWithGrant().introspect('a0', inactive)],
  ['a lost refresh alone ends the grant', historyWithGrant().refresh('r0', lost).refresh('r0', refused)],
  [
    'requests that overlap see the ending and then an active grant',
    historyWithGrant()
      .revoke('r0', done, { at: 20, took: 50 })
      .introspect('a0', inactive, { at: 25 })
      .introspect('a0', active, { at: 40 }),
  ],
  [
    'a refresh succeeds after the ending was seen, while the revocation is still in progress',
    historyWithGrant()
      .revoke('r0', done, { at: 20, took: 50 })
      .refresh('r0', refused, { at: 25 })
      .refresh('r0', tokens(1), { at: 40 }),
  ],
]
