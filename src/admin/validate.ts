/** Validation of requests by their schemas. */
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Problem } from './problem.ts'

/** A response lists at most this many faults. */
const FAULTS_AT_MOST = 20

export const compileSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  return (data: unknown) => {
    const value = httpPart === 'querystring' ? readQuery(schema, data) : data
    const withNul = membersWithNul(value)
    if (compiled.Check(value) && withNul.length === 0) return { value }
    const faults = compiled.Errors(value).map(({ instancePath, message }) => `${placeOf(httpPart, instancePath)} ${message}.`)
    faults.push(...withNul.map((name) => `${placeOf(httpPart, `/${name}`)} contains NUL.`))
    return { error: new Problem('invalid_request', 'The request has faults.', [...new Set(faults)].slice(0, FAULTS_AT_MOST)) }
  }
}

/** PostgreSQL cannot store NUL. Texts further inside of a body have rules of their own. */
function membersWithNul(value: unknown): string[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members.filter(([, text]) => typeof text === 'string' && text.includes('\0')).map(([name]) => name)
}

/** The values of a query are texts. Texts that are numbers or booleans in JSON are converted. The schema refuses any other text. */
function readQuery(schema: TSchema, data: unknown): unknown {
  const types = (schema as { properties?: Record<string, { type?: string } | undefined> }).properties ?? {}
  const values = Object.entries(data as Record<string, unknown>).map(([name, value]) => [name, valueOf(types[name]?.type, value)])
  return Object.fromEntries(values)
}

function valueOf(type: string | undefined, value: unknown): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(String(value))) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function placeOf(part: string | undefined, path: string): string {
  const where = part === 'querystring' ? 'query' : part === 'params' ? 'path' : (part ?? 'body')
  return path === '' ? `The ${where}` : `${path.slice(1)} in the ${where}`
}
