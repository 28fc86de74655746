/**
 * JSON Schemas (draft 2020-12) with the keywords that the operations need, and the check of a value against one. A library for all of
 * JSON Schema has 683 modules. They took 6 MB of the heap of each server with an admin API, and a third of the processor time of
 * a command (docs/decisions/0012-bounds-of-callers.md).
 */

/** Marks a property that may be absent. A symbol, so that the mark is not in the schema as JSON. */
const OPTIONAL = Symbol('optional')

export type JsonSchema = {
  readonly [OPTIONAL]?: true
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null'
  readonly enum?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly minProperties?: number
  readonly items?: JsonSchema
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
  /** `$id`, `$ref` and `patternProperties` occur in what operations return, which is not checked. */
  readonly $id?: string
  readonly $ref?: string
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
}

type Keywords = Omit<JsonSchema, 'type'>

/** The regular expressions of the schemas, by their source text. Each one is a literal, because a test checks the run time of all literals. */
const patterns = new Map<string, RegExp>()

export const Type = {
  Object(properties: Readonly<Record<string, JsonSchema>>, keywords?: Keywords): JsonSchema {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...keywords }
  },
  /** An object whose properties can have any name. */
  Record: (value: JsonSchema): JsonSchema => ({ type: 'object', patternProperties: { '^.*$': value } }),
  Array: (items: JsonSchema, keywords?: Keywords): JsonSchema => ({ type: 'array', items, ...keywords }),
  String({ pattern, ...keywords }: Omit<Keywords, 'pattern'> & { pattern?: RegExp } = {}): JsonSchema {
    if (pattern) patterns.set(pattern.source, pattern)
    return { type: 'string', ...(pattern && { pattern: pattern.source }), ...keywords }
  },
  Integer: (keywords?: Keywords): JsonSchema => ({ type: 'integer', ...keywords }),
  Number: (): JsonSchema => ({ type: 'number' }),
  Boolean: (keywords?: Keywords): JsonSchema => ({ type: 'boolean', ...keywords }),
  Null: (): JsonSchema => ({ type: 'null' }),
  Enum: (choices: readonly string[], keywords?: Keywords): JsonSchema => ({ enum: choices, ...keywords }),
  Union: (anyOf: readonly JsonSchema[], keywords?: Keywords): JsonSchema => ({ anyOf, ...keywords }),
  Optional: (schema: JsonSchema): JsonSchema => ({ ...schema, [OPTIONAL]: true }),
}

/** `pointer` is a JSON pointer (RFC 6901). */
export type SchemaFault = { pointer: string; words: string }

/** All faults of a value. Empty if the value is as the schema says. */
export function findSchemaFaults(schema: JsonSchema, value: unknown, pointer = ''): SchemaFault[] {
  const fault = (words: string): SchemaFault => ({ pointer, words })
  if (schema.anyOf) {
    const faults = schema.anyOf.map((each) => findSchemaFaults(each, value, pointer))
    return faults.some(({ length }) => length === 0) ? [] : [...faults.flat(), fault('must match a schema in anyOf')]
  }
  if (schema.enum) return schema.enum.includes(value as string) ? [] : [fault('must be equal to one of the allowed values')]
  if (!hasType(schema.type, value)) return [fault(`must be ${schema.type}`)]
  if (typeof value === 'string') return faultsOfText(schema, value).map(fault)
  if (typeof value === 'number') return faultsOfNumber(schema, value).map(fault)
  if (Array.isArray(value)) {
    const { items, maxItems = Number.POSITIVE_INFINITY } = schema
    const ofItems = items ? value.flatMap((item, index) => findSchemaFaults(items, item, `${pointer}/${index}`)) : []
    return value.length > maxItems ? [fault(`must not have more than ${maxItems} items`), ...ofItems] : ofItems
  }
  return typeof value === 'object' && value !== null ? faultsOfObject(schema, value as Record<string, unknown>, pointer) : []
}

function hasType(type: JsonSchema['type'], value: unknown): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    case 'null':
      return value === null
    case 'string':
    case 'boolean':
      return typeof value === type
    case undefined:
      return true
  }
}

function faultsOfText({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: JsonSchema, value: string): string[] {
  // A character is a code point. A text has at least half as many as it has code units.
  const length = value.length <= maxLength && value.length >= 2 * minLength ? value.length : [...value].length
  return [
    ...(length < minLength ? [`must not have fewer than ${minLength} characters`] : []),
    ...(length > maxLength ? [`must not have more than ${maxLength} characters`] : []),
    ...(pattern !== undefined && !patterns.get(pattern)?.test(value) ? [`must match pattern "${pattern}"`] : []),
  ]
}

function faultsOfNumber({ minimum, maximum }: JsonSchema, value: number): string[] {
  return [
    ...(minimum !== undefined && value < minimum ? [`must be >= ${minimum}`] : []),
    ...(maximum !== undefined && value > maximum ? [`must be <= ${maximum}`] : []),
  ]
}

function faultsOfObject(schema: JsonSchema, value: Record<string, unknown>, pointer: string): SchemaFault[] {
  const { properties = {}, required = [], minProperties = 0, additionalProperties = true } = schema
  const fault = (words: string): SchemaFault => ({ pointer, words })
  const names = Object.keys(value)
  const missing = required.filter((name) => value[name] === undefined)
  const unknown = additionalProperties ? [] : names.filter((name) => !Object.hasOwn(properties, name))
  return [
    ...unknown.map((name) => ({ pointer: `${pointer}/${name}`, words: 'is unknown' })),
    ...(names.length < minProperties ? [fault(`must not have fewer than ${minProperties} properties`)] : []),
    ...(missing.length > 0 ? [fault(`must have required properties ${missing.join(', ')}`)] : []),
    ...Object.entries(properties).flatMap(([name, property]) =>
      value[name] === undefined ? [] : findSchemaFaults(property, value[name], `${pointer}/${name}`),
    ),
  ]
}
