/** The JSON Schemas of inputs and outputs, derived from the members. Times are epoch seconds. */

import { LARGEST_AMOUNT, PERIODS } from '@grantor/protocol/limit'
import { CLIENT_LOGO_URI_AT_MOST } from '../../config/look/logo.ts'
import { ENTRIES_AT_MOST } from '../../domain/clients/client-faults.ts'
import { DECIMALS_AT_MOST, USES_AT_MOST } from '../../protocol/oauth/limit-faults.ts'
import type { Member, RecordMembers } from '../members/member.ts'
import { type JsonSchema, Type } from './json-schema.ts'
import type { NamedSchema, Operation, OperationKind } from './operation.ts'

export const time = Type.Integer({ minimum: 0, description: 'Epoch seconds.' })
export const timeOrNull = Type.Union([time, Type.Null()])
export const uuid = Type.String({ pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u })
export const walletSchema = Type.String({ pattern: /^0x[0-9A-Fa-f]{40}$/u, description: 'The address of a wallet (EIP-55).' })
export const textOrNull = Type.Union([Type.String(), Type.Null()])
/** Until the year 9999. */
const LATEST = 253_402_300_799
const LONGEST = 2000
const CLOSED = { additionalProperties: false } as const

const amountSchema = (description: string): JsonSchema =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: LARGEST_AMOUNT, description }))

/** `limitFaults` checks what the schema cannot say. */
const limitSchema = Type.Object(
  {
    uses: Type.Integer({ minimum: 1, maximum: USES_AT_MOST, description: 'The number of uses in each period.' }),
    per: Type.Optional(Type.Enum(Object.keys(PERIODS), { description: 'The period; absent for the whole time of the grant.' })),
    unit: Type.Optional(
      Type.String({
        pattern: /^[A-Z0-9]{1,10}$/u,
        description: 'The unit of the amounts. unit, decimals, amount and each are all present or all absent.',
      }),
    ),
    decimals: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: DECIMALS_AT_MOST,
        description: 'The number of decimals: with 2, the amount 5000 is 50.00.',
      }),
    ),
    amount: amountSchema('The sum of all uses in each period, in the smallest step of the unit.'),
    each: amountSchema('The most of one use, in the smallest step of the unit.'),
  },
  { ...CLOSED, description: 'The most that a user can sign for this scope.' },
)

type OutputFields<Stored> = Readonly<Record<string, readonly [schema: JsonSchema, read: (stored: Stored) => unknown]>>
type RecordOf<Own> = {
  [Name in keyof Own]: Own[Name] extends readonly [JsonSchema, (stored: never) => infer Value] ? Value : never
}

/** What the API returns of a stored record besides its members: for each name, the schema and the function that reads the value. */
export function fieldsOf<Stored>() {
  return <const Own extends OutputFields<Stored>>(fields: Own) => ({
    schemas: mapValues(fields, ([schema]) => schema),
    read: (stored: Stored) => mapValues(fields, ([, read]) => read(stored)) as RecordOf<Own>,
  })
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}

export function nameSchema(name: string, schema: JsonSchema): NamedSchema {
  return { ...schema, $id: name }
}

/** A reference to a named schema. */
export function refTo({ $id }: { $id: string }): JsonSchema {
  return { $ref: `${$id}#` }
}

/** All records of a list. */
export function listOf(item: { $id: string }): JsonSchema {
  return Type.Object({ items: Type.Array(refTo(item)) })
}

/** A page of a list. */
export function pageOf(item: { $id: string }): JsonSchema {
  return Type.Object({
    items: Type.Array(refTo(item)),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'The parameter `after` of the next page; null after the last page.',
    }),
    previous: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'The parameter `before` of the previous page; null before the first page. Absent if the list has one direction.',
      }),
    ),
    total: Type.Optional(
      Type.Object(
        { number: Type.Integer(), kind: Type.Enum(['exact', 'at_least']) },
        { description: 'How many records match. `at_least`: counting stopped there. Absent if the records are not counted.' },
      ),
    ),
  })
}

export const USUAL_LIMIT = 50
const LIMIT_AT_MOST = 100
const pageMembers = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMIT_AT_MOST,
      description: `The maximum number of items in a page; ${USUAL_LIMIT} unless given.`,
    }),
  ),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'The member `next` of the previous page.' })),
  before: Type.Optional(
    Type.String({ minLength: 1, maxLength: 500, description: 'The member `previous` of the next page. Not with `after`.' }),
  ),
}

/** What a caller gives besides the id of the record; null if the operation takes nothing. */
export function inputSchema({ input, kind, isPaged }: Pick<Operation, 'input' | 'kind' | 'isPaged'>): JsonSchema | null {
  if (input.length === 0 && !isPaged) return null
  const properties = input.map((member) => {
    const schema = givenSchema(member, kind)
    return [member.name, member.required ? schema : Type.Optional(schema)] as const
  })
  const members = { ...Object.fromEntries(properties), ...(isPaged && pageMembers) }
  return Type.Object(members, kind === 'change' ? { ...CLOSED, minProperties: 1 } : CLOSED)
}

/** A text of a query is not empty. */
function givenSchema(member: Member, kind: OperationKind): JsonSchema {
  const { shape, longest: maxLength = LONGEST, words } = member
  const described = words === undefined ? {} : { description: words }
  if (shape.kind === 'text' && !shape.choices && (kind === 'list' || kind === 'act'))
    return Type.String({ minLength: 1, maxLength, ...described })
  return { ...schemaOf(member), ...described }
}

/** A record as the API returns it. */
export function recordSchema(table: RecordMembers, others: Record<string, JsonSchema>): JsonSchema {
  const properties = Object.values(table).map((member) => [member.name, schemaOf(member)] as const)
  return Type.Object({ ...Object.fromEntries(properties), ...others })
}

function schemaOf({ shape, nullable }: Member): JsonSchema {
  const schema = schemaOfShape(shape)
  return nullable ? Type.Union([schema, Type.Null()]) : schema
}

function schemaOfShape(shape: Member['shape']): JsonSchema {
  switch (shape.kind) {
    case 'text':
      return shape.choices ? Type.Enum([...shape.choices]) : Type.String({ maxLength: LONGEST })
    case 'texts':
      return Type.Array(shape.choices ? Type.Enum([...shape.choices]) : Type.String({ maxLength: LONGEST }), {
        maxItems: ENTRIES_AT_MOST,
      })
    case 'picture':
      return Type.String({ maxLength: CLIENT_LOGO_URI_AT_MOST })
    case 'flag':
      return Type.Boolean()
    case 'integer':
      return Type.Integer({ minimum: shape.minimum, ...(shape.maximum !== undefined && { maximum: shape.maximum }) })
    case 'wallet':
      return walletSchema
    case 'time':
      return Type.Integer({ minimum: 0, maximum: LATEST })
    case 'key_set':
      return Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 20 }) })
    case 'scopes':
      return Type.Array(
        Type.Object(
          {
            name: Type.String({ maxLength: 64 }),
            description: Type.String({ maxLength: 200 }),
            limit: Type.Optional(schemaOfShape({ kind: 'limit' })),
          },
          CLOSED,
        ),
        { maxItems: 100 },
      )
    case 'limit':
      return limitSchema
  }
}
