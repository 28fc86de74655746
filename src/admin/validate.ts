/** Validation of requests by their schemas. Values of a query are texts, so they are converted first; values of a body are not. */
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { Problem } from './problem.ts'

/** Faults beyond these are not reported. */
const FAULTS_AT_MOST = 20

export const compileSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  return (data: unknown) => {
    const value = httpPart === 'body' ? data : Value.Convert(schema, data)
    if (compiled.Check(value)) return { value }
    const faults = compiled.Errors(value).map(({ instancePath, message }) => `${placeOf(httpPart, instancePath)} ${message}.`)
    return { error: new Problem('invalid_request', 'The request has faults.', [...new Set(faults)].slice(0, FAULTS_AT_MOST)) }
  }
}

function placeOf(part: string | undefined, path: string): string {
  const where = part === 'querystring' ? 'query' : part === 'params' ? 'path' : (part ?? 'body')
  return path === '' ? `The ${where}` : `${path.slice(1)} in the ${where}`
}
