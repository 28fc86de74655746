/** Checks what a caller gave against the members of an operation. */
import type { Fault } from '../../domain/model/fault.ts'
import type { Members } from '../members/member.ts'
import { findSchemaFaults, type JsonSchema } from './json-schema.ts'
import type { Operation } from './operation.ts'
import { invalid } from './refusal.ts'
import { inputSchema } from './schemas.ts'

/** A refusal lists at most this many faults. */
const FAULTS_AT_MOST = 20

/** The faults of a value. `placeOf` names a place in the value, by its JSON pointer, for the sentences. */
export function checkValue(schema: JsonSchema, value: unknown, placeOf: (pointer: string) => string): Fault[] {
  const withNul = membersWithNul(value).map((name) => ({ pointer: `/${name}`, words: 'contains NUL' }))
  const faults = new Map(
    [...findSchemaFaults(schema, value), ...withNul].map(({ pointer, words }) => {
      const fault = { member: pointer.split('/')[1] ?? null, words: `${placeOf(pointer)} ${words}.` }
      return [fault.words, fault]
    }),
  )
  return [...faults.values()].slice(0, FAULTS_AT_MOST)
}

/** PostgreSQL cannot store NUL. Texts further inside of a body have rules of their own. */
function membersWithNul(value: unknown): string[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members.filter(([, text]) => typeof text === 'string' && text.includes('\0')).map(([name]) => name)
}

/** Throws a refusal with all faults. */
export function checkInput(operation: Operation, input: Members): void {
  const schema = inputSchema(operation)
  if (!schema) return
  const faults = checkValue(schema, input, (pointer) => pointer.slice(1) || 'The input')
  if (faults.length > 0) throw invalid(faults)
}
