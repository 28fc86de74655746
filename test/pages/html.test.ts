import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Html, html } from '../../src/pages/html.ts'
import { runs } from '../support/runs.ts'

test('what is filled into a page is text, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const markup = html`<p title="${text}">${text}</p>`.toString()
      const filled = markup.slice('<p title="'.length, -'</p>'.length)
      expect(filled.replace('">', '')).not.toMatch(/[<>"'`\0]/)
      expect(filled.replaceAll(/&(amp|lt|gt|quot|#39|#96);/g, '')).not.toContain('&')
    }),
    { numRuns: runs },
  )
})

test('escaping loses nothing: a browser reads back the text that was filled in', () => {
  const text = `a & b < c > d "e" 'f' \`g\` &amp; é 🦊`
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`' }
  const read = html`${text}`.toString().replace(/&(amp|lt|gt|quot|#39|#96);/g, (_, name: string) => entities[name] ?? '')
  expect(read).toBe(text)
})

test('markup goes into markup as it is, lists included; nothing stands for nothing', () => {
  const items = ['a', '<b>'].map((name) => html`<li>${name}</li>`)
  expect(html`<ul>${items}</ul>${null}${undefined}${false}${0}`.toString()).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>0')
})

test('parsed JSON can never pose as markup', () => {
  const posing = JSON.parse('{"markup":"<script>","toString":"x"}') as unknown
  expect(posing).not.toBeInstanceOf(Html)
  const impostor = Object.assign(Object.create(Html.prototype) as Html, { markup: '<script>' })
  expect(() => html`${impostor}`).toThrow(TypeError)
})
