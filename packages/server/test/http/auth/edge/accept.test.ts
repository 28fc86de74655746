import { expect, test } from 'vitest'
import { namesMediaType } from '../../../../src/http/auth/accept.ts'

const TYPE = 'application/token-introspection+jwt'

test.each([
  [TYPE, true],
  [TYPE.toUpperCase(), true],
  [`text/html , ${TYPE} ; q=0.001`, true],
  [`${TYPE};q=0, ${TYPE}`, true],
  [`${TYPE};charset=utf-8`, true],
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/*', false],
  [`${TYPE};q=0`, false],
  [`${TYPE} ; Q=0.000`, false],
  [`${TYPE}x`, false],
  [`x${TYPE}`, false],
  [`text/html;a=${TYPE}`, false],
])('The Accept field "%s" is read as naming the media type of a signed response: %s (RFC 9110 §12.5.1)', (accept, names) => {
  expect(namesMediaType(accept, TYPE)).toBe(names)
})

test.each([' ', '\t', ';', ',', '; ', ' ;', 'q=0', ';q=0.', TYPE, `${TYPE};`])(
  'An Accept field of ten million characters that repeats %j does not stall the parser',
  (part) => {
    expect(namesMediaType(`${TYPE}x${part.repeat(10_000_000 / part.length)}x`, TYPE)).toBeTypeOf('boolean')
  },
)
