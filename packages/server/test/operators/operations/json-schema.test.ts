/** The check of a value against a JSON Schema. TypeBox, an independent implementation, is the reference. */
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { findSchemaFaults, Type } from '../../../src/operators/operations/json-schema.ts'

const CLOSED = { additionalProperties: false } as const
const person = Type.Object(
  { name: Type.String({ minLength: 2, maxLength: 4 }), age: Type.Optional(Type.Integer({ minimum: 0 })) },
  CLOSED,
)

const cases = {
  'a text': [Type.String(), ['', 'a', 1, null, undefined, [], {}]],
  'a text with bounds': [
    Type.String({ minLength: 2, maxLength: 4 }),
    ['', 'a', 'ab', 'abcd', 'abcde', '😀', '😀😀', '😀😀😀😀', '😀😀😀😀😀'],
  ],
  'a text with a pattern': [Type.String({ pattern: /^[a-z]+$/u }), ['abc', 'ABC', '', 'abc\n', 'é']],
  'an integer': [Type.Integer(), [0, -1, 1.5, '1', true, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]],
  'an integer with bounds': [Type.Integer({ minimum: 1, maximum: 3 }), [0, 1, 3, 4]],
  'a number': [Type.Number(), [0.5, '0.5', Number.NaN]],
  'a boolean': [Type.Boolean(), [true, false, 'true', 0, null]],
  'one of several texts': [Type.Enum(['a', 'b']), ['a', 'c', 1, null]],
  'a text or null': [Type.Union([Type.String({ maxLength: 2 }), Type.Null()]), ['ab', null, 'abc', 1]],
  'a list': [Type.Array(Type.Enum(['a', 'b']), { maxItems: 2 }), [[], ['a'], ['a', 'c'], ['a', 'b', 'a'], {}, 'a']],
  'an object': [person, [{ name: 'Ann' }, { name: 'Ann', age: 3 }, {}, { name: 'A' }, { name: 'Ann', age: -1 }, [], null, 'x']],
  'an object with an absent member': [person, [{ name: 'Ann', age: undefined }, { age: 1 }]],
  'an open object': [Type.Object({}, { additionalProperties: true }), [{}, { any: 1 }, []]],
  'an object with at least one member': [
    Type.Object({ a: Type.Optional(Type.String()) }, { ...CLOSED, minProperties: 1 }),
    [{ a: '' }, {}],
  ],
  'a list of objects': [Type.Array(person), [[{ name: 'Ann' }], [{ name: 'Ann' }, { name: 'A', age: 'x' }]]],
} as const

test.for(Object.entries(cases))(
  '%s is checked as TypeBox checks the same schema, with the same faults',
  ([, [schema, values]]) => {
    const reference = Compile(JSON.parse(JSON.stringify(schema)) as never)
    const expected = values.map((value) =>
      reference.Errors(value).map(({ instancePath, message }) => ({ pointer: instancePath, words: message })),
    )
    expect(values.map((value) => findSchemaFaults(schema, value))).toEqual(expected)
  },
)

test('A fault names each member that the schema does not have, also if all objects inherit the name', () => {
  const value: unknown = JSON.parse('{"name":"Ann","other":1,"toString":1,"__proto__":1}')
  expect(findSchemaFaults(person, value)).toEqual(
    ['other', 'toString', '__proto__'].map((name) => ({ pointer: `/${name}`, words: 'is unknown' })),
  )
})

test('The length of a text is counted in code points, as JSON Schema says', () => {
  const flag = '🇩🇪'
  expect(findSchemaFaults(Type.String({ maxLength: 2 }), flag)).toEqual([])
  expect(findSchemaFaults(Type.String({ maxLength: 1 }), flag)).toEqual([
    { pointer: '', words: 'must not have more than 1 characters' },
  ])
})
