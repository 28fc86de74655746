/** Checks what a caller gave against the members of an operation. */
import { findSchemaFaults, type JsonSchema } from './json-schema.ts'
import type { Members } from './members/member.ts'
import type { Operation } from './operation.ts'
import { invalid } from './refusal.ts'
import { inputSchema } from './schemas.ts'

/** A refusal lists at most this many faults. */
const FAULTS_AT_MOST = 20

/** The faults of a value, as sentences. `placeOf` names a member by its JSON pointer. */
export function checkValue(schema: JsonSchema, value: unknown, placeOf: (pointer: string) => string): string[] {
  const faults = findSchemaFaults(schema, value).map(({ pointer, words }) => `${placeOf(pointer)} ${words}.`)
  faults.push(...membersWithNul(value).map((name) => `${placeOf(`/${name}`)} contains NUL.`))
  return [...new Set(faults)].slice(0, FAULTS_AT_MOST)
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
