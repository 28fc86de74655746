/** Validation of requests by their schemas. */
import type { FastifySchemaCompiler } from 'fastify'
import { checkValue } from '../operations/check-input.ts'
import type { JsonSchema } from '../operations/json-schema.ts'
import { Problem } from './problem.ts'

export const compileSchema: FastifySchemaCompiler<JsonSchema> = ({ schema, httpPart }) => {
  return (data: unknown) => {
    const value = httpPart === 'querystring' ? readQuery(schema, data) : data
    const faults = checkValue(schema, value, (pointer) => memberPath(httpPart, pointer))
    return faults.length === 0 ? { value } : { error: new Problem('invalid_request', 'The request has faults.', faults) }
  }
}

/** The values of a query are texts. Texts that are numbers or booleans in JSON are converted. The schema refuses any other text. */
function readQuery(schema: JsonSchema, data: unknown): unknown {
  const types = (schema as { properties?: Record<string, { type?: string } | undefined> }).properties ?? {}
  const values = Object.entries(data as Record<string, unknown>).map(([name, value]) => [name, valueOf(types[name]?.type, value)])
  return Object.fromEntries(values)
}

function valueOf(type: string | undefined, value: unknown): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(String(value))) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function memberPath(part: string | undefined, pointer: string): string {
  const where = part === 'querystring' ? 'query' : part === 'params' ? 'path' : (part ?? 'body')
  return pointer === '' ? `The ${where}` : `${pointer.slice(1)} in the ${where}`
}
