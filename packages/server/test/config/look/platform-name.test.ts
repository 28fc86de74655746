/** The rule for the name of the platform. */
import { expect, test } from 'vitest'
import { platformNameFault } from '../../../src/config/look/platform-name.ts'

test.each(['Aurora', 'Aurora Pay', 'Aurora.example', 'オーロラ ID', 'أورورا', 'L’Aurore', 'Aurora 2', '北极光 Aurora'])(
  'A name in any script is accepted: %s',
  (name) => {
    expect(platformNameFault(name)).toBeNull()
  },
)

test.each([
  ['   ', 'a visible character'],
  ['A'.repeat(41), 'at most 40 characters'],
  ['Aurora\u202eyap', 'marks of direction'],
  ['Auro\u200bra', 'invisible'],
  ['Aurora\nPay', 'line breaks'],
  ['Aurora\u2003Pay', 'ordinary spaces'],
  ['Aurora  Pay', 'ordinary spaces'],
  // a Cyrillic а
  ['Аurora', 'two alphabets'],
])('A name that is not visible, is too long, or could deceive is refused: %j', (name, fault) => {
  expect(platformNameFault(name)).toContain(fault)
})
