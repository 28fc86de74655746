import { expect, test } from 'vitest'
import { exact, nameOr, pathTo, table } from '../../../src/operators/console/parts.ts'
import { bars, plot } from '../../../src/operators/console/plot.ts'
import { formatCount } from '../../../src/operators/operations/words.ts'
import { scripts } from '../../../src/pages/inline.ts'

test('Numbers of grants are written in words that a person reads: one, many with separators, and a bound', () => {
  expect(formatCount(1, 'grant')).toBe('1 grant')
  expect(formatCount(0, 'grant')).toBe('0 grants')
  expect(formatCount(1204, 'grant')).toBe('1,204 grants')
  expect(formatCount(10_000, 'grant', 10_000)).toBe('10,000 or more grants')
})

test('A value with invisible characters is shown with its escapes, so that two values never look the same', () => {
  expect(exact('notes').toString()).toBe('<code>notes</code>')
  expect(exact('no\u202etes').toString()).not.toBe(exact('notes').toString())
})

test('The parts of a path are encoded, so that an id cannot lead to another page', () => {
  expect(pathTo('clients', '../keys')).toBe('/console/clients/..%2Fkeys')
  expect(pathTo('resources', 'https://a.example/?x#y', 'change')).toBe(
    '/console/resources/https%3A%2F%2Fa.example%2F%3Fx%23y/change',
  )
})

test('A plot has a gap where a value is missing, and its text is escaped', () => {
  const drawn = plot({
    lines: [{ name: 'a', values: [0, 5, null, 10] }],
    summary: '<b>"',
    format: String,
    empty: 'Nothing.',
    times: ['first', 'last'],
  }).toString()
  expect(drawn.match(/M\d/g)?.length, 'three lines of the scale, and two parts of the line').toBe(5)
  expect(drawn).toContain('aria-label="&lt;b&gt;&quot;"')
  const nothing = { summary: '', format: String, empty: 'Nothing.', times: [] } as const
  expect(plot({ lines: [{ name: 'a', values: [0, 0] }], ...nothing }).toString()).toBe('<p class="lead empty">Nothing.</p>')
  expect(bars({ values: [0, 0], ...nothing }).toString()).toBe('<p class="lead empty">Nothing.</p>')
})

test('A chart has one bar for each value above zero, on a scale from zero to a round number', () => {
  const drawn = bars({
    values: [5, 0, 9],
    summary: 'three days',
    format: String,
    empty: '',
    times: ['first', 'today'],
  }).toString()
  expect(/class="bars" d="([^"]*)"/.exec(drawn)?.[1]).toBe('M30 120v-60h140v60zM430 120v-108h140v108z')
  expect(drawn).toContain('<span>10</span><span>5</span><span>0</span>')
  expect(drawn).toContain('<span>first</span><span>today</span>')
})

test('A table without rows has a sentence in place of the rows, and each cell of other tables has a label for narrow screens', () => {
  const columns = [{ name: 'Name', cell: (row: string) => row }]
  expect(table('T', columns, [], 'Nothing.').toString()).toBe('<p class="lead empty">Nothing.</p>')
  expect(table('T', columns, ['<i>'], '').toString()).toContain('<td data-label="Name"><div>&lt;i&gt;</div></td>')
})

test('The script of the console has less than 30 kB', () => {
  expect(scripts.console.length).toBeLessThan(30_000)
})

test('The console shows the whole of the longest name that a client can have', () => {
  expect(nameOr('n'.repeat(80), 'client').toString()).toBe(`<bdi>${'n'.repeat(80)}</bdi>`)
})
