import { expect, test } from 'vitest'
import { nearest } from '../../src/config/nearest.ts'

const commands = ['start', 'serve', 'migrate', 'clients create', 'clients list', 'keys rotate']

test.each([
  ['strat', 'start'],
  ['sevre', 'serve'],
  ['migrat', 'migrate'],
  ['client create', 'clients create'],
  ['key rotate', 'keys rotate'],
])('%s probably means %s', (typed, meant) => {
  expect(nearest(typed, commands)).toBe(meant)
})

test.each(['', 'x', 'completely else', 'stop'])('%s means nothing known, so nothing is proposed', (typed) => {
  expect(nearest(typed, commands)).toBeUndefined()
})
