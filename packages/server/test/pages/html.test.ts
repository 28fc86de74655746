import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Html, html } from '../../src/pages/html.ts'
import { forAll } from '../support/property.ts'

test('Every value that is inserted into HTML is escaped as text', () => {
  forAll(fc.string({ unit: 'binary' }), (text) => {
    const markup = html`<p title="${text}">${text}</p>`.toString()
    const inserted = markup.slice('<p title="'.length, -'</p>'.length)
    expect(inserted.replace('">', '')).not.toMatch(/[<>"'`\0]/)
    expect(inserted.replaceAll(/&(amp|lt|gt|quot|#39|#96);/g, '')).not.toContain('&')
  })
})

test('Escaped text, read as HTML, is the original text', () => {
  const text = `a & b < c > d "e" 'f' \`g\` &amp; é 🦊`
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`' }
  const read = html`${text}`.toString().replace(/&(amp|lt|gt|quot|#39|#96);/g, (_, name: string) => entities[name] ?? '')
  expect(read).toBe(text)
})

test('HTML that is inserted into HTML is not escaped, also in a list, and null, undefined and false insert nothing', () => {
  const items = ['a', '<b>'].map((name) => html`<li>${name}</li>`)
  expect(html`<ul>${items}</ul>${null}${undefined}${false}${0}`.toString()).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>0')
})

test('Parsed JSON is not accepted as HTML, nor is an object that imitates it', () => {
  const posing = JSON.parse('{"markup":"<script>","toString":"x"}') as unknown
  expect(posing).not.toBeInstanceOf(Html)
  const impostor = Object.assign(Object.create(Html.prototype) as Html, { markup: '<script>' })
  expect(() => html`${impostor}`).toThrow(TypeError)
})
