/** The answers and the refusals of an operation, for the OpenAPI document. */

import { jobs } from '../operations/jobs.ts'
import { type JsonSchema, Type } from '../operations/json-schema.ts'
import type { Operation } from '../operations/operation.ts'
import { nameSchema, refTo } from '../operations/schemas.ts'
import { wordsOf } from './problem.ts'

export const problemSchema = nameSchema(
  'Problem',
  Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer(),
      code: Type.String({ description: 'For programs.' }),
      detail: Type.String({ description: 'For people.' }),
      faults: Type.Optional(Type.Array(Type.String())),
      errors: Type.Optional(
        Type.Array(
          Type.Object({
            member: Type.Union([Type.String(), Type.Null()], {
              description: 'The member of the body or the parameter that the fault concerns; null if none alone is wrong.',
            }),
            detail: Type.String({ description: 'The sentence of `faults`.' }),
          }),
        ),
      ),
      request_id: Type.String(),
    },
    { description: 'RFC 9457' },
  ),
)

type CallShape = { hasId: boolean; hasBody: boolean; hasInput: boolean }

export function answersOf(operation: Operation, given: CallShape): Record<number, object> {
  const { answers, output } = operation
  const successes = [
    [output === null ? 204 : 200, answers.done, output],
    [201, answers.created, output],
    [202, answers.started, refTo(jobs.schemas[0])],
  ] as const
  return Object.fromEntries([
    ...successes.flatMap(([status, words, schema]) => (words === undefined ? [] : [[status, answerSchema(words, schema)]])),
    ...refusalsOf(operation, given).map((status) => [status, refusal(status)]),
  ]) as Record<number, object>
}

function refusalsOf({ refusals }: Operation, { hasId, hasBody, hasInput }: CallShape): number[] {
  return [
    400,
    401,
    403,
    ...(hasId || refusals.includes('not_found') ? [404] : []),
    ...(refusals.includes('conflict') ? [409] : []),
    ...(refusals.includes('changed_meanwhile') ? [412] : []),
    ...(hasBody ? [413, 415] : []),
    ...(hasInput || hasId ? [422] : []),
    ...(hasId ? [414] : []),
    431,
    503,
  ]
}

function answerSchema(description: string, schema: JsonSchema | null): object {
  return schema === null ? { type: 'null', description } : { description, content: { 'application/json': { schema } } }
}

function refusal(status: number): object {
  return {
    description: wordsOf(status),
    content: { 'application/problem+json': { schema: refTo(problemSchema) } },
  }
}
