/** The checker for draws: it finds every kind of violation, and accepts valid histories. */
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import {
  done,
  drawn,
  type HistoryBuilder,
  historyWithLimit,
  lost,
  notDrawn,
  RULES,
  refused,
  returned,
  TOMORROW,
} from './history-builder.ts'

const inactive = notDrawn('token_inactive')
const historyWithDraw = () => historyWithLimit().draw('k', 40, drawn(1, 2, 60))

describe('Histories of draws without a violation', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'all that was signed',
      historyWithDraw()
        .draw('l', 40, drawn(2, 1, 20))
        .draw('m', 20, drawn(3, 0, 0)),
    ],
    [
      'a draw is repeated, and another amount is refused',
      historyWithDraw()
        .draw('k', 40, drawn(1, 2, 60))
        .draw('k', 41, notDrawn('key_used')),
    ],
    [
      'simultaneous draws',
      historyWithLimit()
        .draw('k', 30, drawn(2, 1, 30), { at: 40 })
        .draw('l', 40, drawn(1, 2, 60), { at: 41 }),
    ],
    [
      'a draw is repeated after an ending',
      historyWithDraw()
        .revoke('r0', done)
        .draw('k', 40, drawn(1, 2, 60))
        .draw('l', 1, inactive),
    ],
    [
      'a lost draw was made',
      historyWithLimit()
        .draw('k', 40, lost)
        .draw('l', 40, drawn(2, 1, 20))
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'a lost draw was made before an ending',
      historyWithLimit()
        .draw('k', 40, lost)
        .endEverything()
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'a lost draw was not made',
      historyWithLimit()
        .draw('k', 40, lost)
        .draw('l', 40, drawn(1, 2, 60))
        .draw('k', 40, drawn(2, 1, 20)),
    ],
    ['a lost draw was not made before an ending', historyWithLimit().draw('k', 40, lost).endApp(done).draw('k', 40, inactive)],
    [
      'a draw races with an ending',
      historyWithLimit()
        .revoke('r0', done, { at: 40 })
        .draw('k', 40, drawn(1, 2, 60), { at: 41 }),
    ],
    ['a lost ending took effect', historyWithLimit().revoke('r0', lost).draw('k', 40, inactive)],
    [
      'a lost ending did not take effect',
      historyWithLimit()
        .revoke('r0', lost)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    ['the token is revoked', historyWithLimit().revoke('a0', done).draw('k', 40, inactive)],
    ['the token expires', historyWithLimit().draw('k', 40, inactive, { at: 700_000 })],
    ['the owner of a contract changes', historyWithLimit().changeOwner().draw('k', 40, inactive)],
    ['more than one use may cost', historyWithLimit().draw('k', 41, notDrawn('each_exceeded'))],
    [
      'more than is left',
      historyWithDraw()
        .draw('l', 40, drawn(2, 1, 20))
        .draw('m', 21, notDrawn('amount_exceeded')),
    ],
    [
      'no use is left, also if the last draw was lost',
      historyWithDraw()
        .draw('l', 10, lost)
        .draw('m', 10, drawn(3, 0, 40))
        .draw('n', 10, notDrawn('uses_exceeded')),
    ],
    [
      'a part is given back',
      historyWithDraw()
        .giveBack('k', 10, returned(1))
        .draw('l', 40, drawn(2, 1, 30)),
    ],
    [
      'all is given back, with the use',
      historyWithDraw()
        .draw('l', 40, drawn(2, 1, 20))
        .giveBack('k', 40, returned(1))
        .draw('m', 40, drawn(3, 1, 20))
        .draw('n', 20, drawn(4, 0, 0)),
    ],
    [
      'a lost return worked, and is repeated',
      historyWithDraw()
        .giveBack('k', 10, lost)
        .draw('l', 40, drawn(2, 1, 30))
        .giveBack('k', 10, returned(1))
        .giveBack('k', 11, notDrawn('already_returned')),
    ],
    [
      'a lost return did not work',
      historyWithDraw()
        .giveBack('k', 10, lost)
        .draw('l', 40, drawn(2, 1, 20))
        .giveBack('k', 11, returned(1)),
    ],
    ['more is given back than was drawn', historyWithDraw().giveBack('k', 41, notDrawn('above_draw'))],
    ['an unknown draw is given back', historyWithDraw().giveBack('l', 1, notDrawn('unknown_draw'))],
    ['a return after an ending', historyWithDraw().revoke('r0', done).giveBack('k', 40, returned(1))],
    [
      'a new period',
      historyWithDraw()
        .draw('l', 40, drawn(2, 2, 60, TOMORROW))
        .draw('m', 40, drawn(3, 1, 20, TOMORROW))
        .draw('n', 20, drawn(4, 0, 0, TOMORROW)),
    ],
    ['another API is refused', historyWithDraw().draw('k', 40, notDrawn('not_yours'), {}, 'another API')],
  ])('A history without a violation passes: %s', (_, { entries }) => {
    expect(checkHistory(entries, RULES)).toEqual([])
  })
})

describe('I9: no more is drawn than the wallet signed, and each key is drawn once and given back once', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'more uses',
      historyWithLimit()
        .draw('k', 1, drawn(1, 2, 99))
        .draw('l', 1, drawn(2, 1, 98))
        .draw('m', 1, drawn(3, 0, 97))
        .draw('n', 1, drawn(4, 0, 96)),
    ],
    [
      'a higher amount',
      historyWithDraw()
        .draw('l', 40, drawn(2, 1, 20))
        .draw('m', 40, drawn(3, 0, 0)),
    ],
    ['a higher amount, with two equal answers', historyWithDraw().draw('l', 40, drawn(2, 2, 60))],
    ['one use costs more', historyWithLimit().draw('k', 41, drawn(1, 2, 59))],
    ['less than nothing is left', historyWithDraw().draw('l', 40, drawn(2, 1, -20))],
    ['too much is left', historyWithLimit().draw('k', 40, drawn(1, 2, 61))],
    ['too little is left', historyWithDraw().draw('l', 10, drawn(2, 1, 49))],
    ['a use too little is left', historyWithDraw().draw('l', 10, drawn(2, 0, 50))],
    ['a repeated draw with another number', historyWithDraw().draw('k', 40, drawn(2, 1, 20))],
    ['a repeated draw with another rest', historyWithDraw().draw('k', 40, drawn(1, 2, 20))],
    ['one key with two amounts', historyWithDraw().draw('k', 30, drawn(1, 2, 60))],
    ['two keys with one draw', historyWithDraw().draw('l', 40, drawn(1, 2, 60))],
    ['two amounts are given back', historyWithDraw().giveBack('k', 10, returned(1)).giveBack('k', 20, returned(1))],
    ['more is given back than was drawn', historyWithDraw().giveBack('k', 41, returned(1))],
    ['what was not drawn is given back', historyWithDraw().giveBack('l', 1, returned(2))],
    [
      'a part gives the use back',
      historyWithDraw()
        .giveBack('k', 10, returned(1))
        .draw('l', 10, drawn(2, 2, 60)),
    ],
    ['the whole amount is back before it was given', historyWithDraw().draw('l', 10, drawn(2, 2, 90))],
    [
      'more in the second period',
      historyWithDraw()
        .draw('l', 40, drawn(2, 2, 60, TOMORROW))
        .draw('m', 40, drawn(3, 1, 60, TOMORROW)),
    ],
  ])('A draw beyond the signature is reported as a violation of I9 and of nothing else: %s', (_, { violated }) => {
    expect(violated).toEqual(['I9'])
  })
})

describe('I3: nothing is drawn after an acknowledged ending', () => {
  test.each<[string, HistoryBuilder]>([
    [
      'of the grant',
      historyWithLimit()
        .revoke('r0', done)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'of the token',
      historyWithLimit()
        .revoke('a0', done)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'of the app',
      historyWithLimit()
        .endApp(done)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'of everything',
      historyWithLimit()
        .endEverything()
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'by a second redemption',
      historyWithLimit()
        .redeem(refused)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'with a key that was refused before',
      historyWithLimit()
        .draw('k', 41, notDrawn('each_exceeded'))
        .revoke('r0', done)
        .draw('k', 40, drawn(1, 2, 60)),
    ],
    [
      'with another key than the one before',
      historyWithLimit()
        .draw('k', 40, lost)
        .revoke('r0', done)
        .draw('l', 40, drawn(1, 2, 60)),
    ],
  ])('A draw after an ending is reported as a violation of I3 and of nothing else: %s', (_, { violated }) => {
    expect(violated).toEqual(['I3'])
  })
})

describe('I4: an acknowledged draw is kept, and nothing is refused without a reason', () => {
  test.each<[string, HistoryBuilder]>([
    ['the draw is gone', historyWithDraw().revoke('r0', done).draw('k', 40, inactive)],
    ['its amount is another one', historyWithDraw().draw('k', 41, lost).draw('k', 40, notDrawn('key_used'))],
    ['its key is unknown', historyWithDraw().giveBack('k', 10, notDrawn('unknown_draw'))],
    [
      'its return is gone',
      historyWithDraw().giveBack('k', 10, returned(1)).giveBack('k', 11, lost).giveBack('k', 10, notDrawn('already_returned')),
    ],
    ['its return is refused because of nothing', historyWithDraw().giveBack('k', 10, notDrawn('already_returned'))],
    ['its return is too high, although it is not', historyWithDraw().giveBack('k', 40, notDrawn('above_draw'))],
    ['the grant ended without an ending', historyWithLimit().draw('k', 40, inactive)],
    ['enough is left', historyWithDraw().draw('l', 40, notDrawn('amount_exceeded'))],
    ['a use is left', historyWithDraw().draw('l', 40, notDrawn('uses_exceeded'))],
    ['one use may cost this', historyWithLimit().draw('k', 40, notDrawn('each_exceeded'))],
    ['the key is new', historyWithDraw().draw('l', 40, notDrawn('key_used'))],
    ['the API is the right one', historyWithLimit().draw('k', 40, notDrawn('not_yours'))],
  ])('A loss or a wrong refusal is reported as a violation of I4 and of nothing else: %s', (_, { violated }) => {
    expect(violated).toEqual(['I4'])
  })
})

test('A draw by another API is a violation of I6', () => {
  expect(historyWithLimit().draw('k', 40, drawn(1, 2, 60), {}, 'another API').violated).toEqual(['I6'])
})
