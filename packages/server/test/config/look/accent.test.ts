/** The accent colour of the operator, and the colours that are derived from it. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accentColors, contrastOf, findUnreadable, NEEDED_CONTRAST, SURFACES } from '../../../src/config/look/accent.ts'

const color = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => `#${Buffer.from(parts).toString('hex')}`)

test('The contrast of two colours is that of WCAG 2.2', () => {
  expect(contrastOf('#ffffff', '#000000')).toBeCloseTo(21, 5)
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrastOf('#ff0000', '#ffffff')).toBeCloseTo(4, 1)
  expect(contrastOf('#123456', '#123456')).toBe(1)
})

test('A bright yellow cannot be read, and the answer has its contrast, the background, and the nearest shade that can be read', () => {
  const unreadable = findUnreadable('#ffd400')
  expect(unreadable).toMatchObject({ background: '#e9eee9' })
  expect(unreadable?.contrast).toBeCloseTo(1.2, 1)
  expect(findUnreadable(unreadable?.nearest ?? '')).toBeNull()
})

test('A dark blue, a dark red and black can be read', () => {
  for (const dark of ['#0b2a6f', '#8a0f2a', '#000000']) expect(findUnreadable(dark)).toBeNull()
})

test('The nearest shade of every unreadable colour can be read', () => {
  fc.assert(
    fc.property(color, (given) => {
      const unreadable = findUnreadable(given)
      if (unreadable) expect(findUnreadable(unreadable.nearest)).toBeNull()
    }),
  )
})

test('For every colour that is accepted, each pair of derived colours that the pages use as text and background has a contrast of 4.5:1 in both schemes', () => {
  fc.assert(
    fc.property(color, (given) => {
      const accepted = findUnreadable(given)?.nearest ?? given
      for (const [scheme, { accent, strong, on, tint }] of Object.entries(accentColors(accepted))) {
        const { ink, ...backgrounds } = SURFACES[scheme as 'light' | 'dark']
        for (const background of Object.values(backgrounds)) {
          expect(contrastOf(accent, background)).toBeGreaterThanOrEqual(NEEDED_CONTRAST)
          expect(contrastOf(strong, background)).toBeGreaterThanOrEqual(NEEDED_CONTRAST)
        }
        for (const [text, background] of [
          [on, accent],
          [on, strong],
          [strong, tint],
          [ink, tint],
        ] as const)
          expect(contrastOf(text, background)).toBeGreaterThanOrEqual(NEEDED_CONTRAST)
      }
    }),
  )
})

test('The backgrounds that the contrast is measured with are those of the style', () => {
  const css = readFileSync(new URL('../../../src/pages/browser/grantor.css', import.meta.url), 'utf8')
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)')
  for (const [scheme, part] of [
    ['light', light],
    ['dark', dark],
  ] as const)
    for (const [name, value] of Object.entries(SURFACES[scheme]))
      expect(part).toContain(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: ${value};`)
})
