import { expect, test } from 'vitest'
import { newUserCode, readUserCode, showUserCode } from '../../../src/protocol/oauth/user-code.ts'

test('User codes have eight letters of the 20 consonants of RFC 8628 §6.1, and use all of them', () => {
  const codes = Array.from({ length: 500 }, newUserCode)
  for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)
  expect(new Set(codes.join('')).size).toBe(20)
  expect(new Set(codes).size).toBe(500)
})

test('A code is shown in two groups of four and read back in any spelling (RFC 8628 §6.1)', () => {
  expect(showUserCode('WDJBMJHT')).toBe('WDJB-MJHT')
  for (const entry of ['WDJB-MJHT', 'wdjbmjht', ' wdjb mjht ', 'W.D.J.B.M.J.H.T']) expect(readUserCode(entry)).toBe('WDJBMJHT')
})

test.each(['', 'WDJB-MJH', 'WDJB-MJHTX', 'WDJB-MJHA', 'WDJB-MJH1', 'ẀDJB-MJHT', `${' '.repeat(60)}WDJBMJHT`])(
  '%j is no user code',
  (entry) => {
    expect(readUserCode(entry)).toBeNull()
  },
)
