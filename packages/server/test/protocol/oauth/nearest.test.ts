import { expect, test } from 'vitest'
import { nearest } from '../../../src/protocol/oauth/nearest.ts'

const commands = ['start', 'serve', 'migrate', 'clients create', 'clients list', 'keys rotate']

test.each([
  ['strat', 'start'],
  ['sevre', 'serve'],
  ['migrat', 'migrate'],
  ['client create', 'clients create'],
  ['key rotate', 'keys rotate'],
])('For the mistyped command "%s", "%s" is proposed', (typed, meant) => {
  expect(nearest(typed, commands)).toBe(meant)
})

test.each(['', 'x', 'completely else', 'stop'])('For "%s", which resembles no command, nothing is proposed', (typed) => {
  expect(nearest(typed, commands)).toBeUndefined()
})
