import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFormValue, parseForm } from '../../../src/protocol/oauth/form.ts'
import { takeParameters } from '../../../src/protocol/oauth/parameters.ts'
import { forAll } from '../../support/property.ts'

const take = (raw: string) => takeParameters(parseForm(raw), ['code', 'state'], ['resource'])

test('A parameter that is sent once reads as its text', () => {
  expect(take('code=c&state=s%20t&resource=https://api.example.com/')).toEqual({
    faults: [],
    values: { code: 'c', state: 's t', resource: ['https://api.example.com/'] },
  })
})

test.each(['', 'code=', 'code', 'code=&state=&resource=', 'resource&resource='])(
  'A parameter without a value counts as omitted (RFC 6749 §3.1): "%s"',
  (raw) => {
    expect(take(raw)).toEqual({ faults: [], values: { code: null, state: null, resource: [] } })
  },
)

test.each(['code=a&code=b', 'code=a&code=a', 'code=a&c%6Fde=a', 'code=&code=a', 'code&code', 'code=a&code=b&code=c'])(
  'A parameter that is sent more than once is a fault, and none of its values is used (RFC 6749 §3.1): %s',
  (raw) => {
    expect(take(`${raw}&state=s`)).toEqual({
      faults: [{ reason: 'parameter_repeated', parameter: 'code' }],
      values: { code: null, state: 's', resource: [] },
    })
  },
)

test('The parameter resource may be sent several times, and its order is kept (RFC 8707 §2)', () => {
  expect(take('resource=b&resource=a&resource=&resource=b')).toEqual({
    faults: [],
    values: { code: null, state: null, resource: ['b', 'a', 'b'] },
  })
})

test('Unknown parameters are ignored, even if they are repeated or not UTF-8 (RFC 6749 §3.1)', () => {
  expect(take('code=c&x=1&x=2&%FF=%FF&Code=d&code%20=e&__proto__=f')).toEqual({
    faults: [],
    values: { code: 'c', state: null, resource: [] },
  })
})

test("A parameter value that is not UTF-8 is a fault, and faults are in the endpoint's order of parameters", () => {
  expect(take('resource=%FF&resource=ok&state=%C3%28&code=%80')).toEqual({
    faults: [
      { reason: 'parameter_not_utf8', parameter: 'code' },
      { reason: 'parameter_not_utf8', parameter: 'state' },
      { reason: 'parameter_not_utf8', parameter: 'resource' },
    ],
    values: { code: null, state: null, resource: ['ok'] },
  })
})

test('Any text in a parameter is read unchanged', () => {
  forAll(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
    expect(take(`a=b&state=${encodeFormValue(text)}&z`).values.state).toBe(text)
  })
})
