/** Checks what a caller gave against the members of an operation. */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Members } from './members/member.ts'
import type { Operation } from './operation.ts'
import { invalid } from './refusal.ts'
import { inputSchema } from './schemas.ts'

/** A refusal lists at most this many faults. */
const FAULTS_AT_MOST = 20

/** A function from a value to its faults. `placeOf` names a member by its JSON pointer. */
export function compileCheck(schema: TSchema, placeOf: (pointer: string) => string): (value: unknown) => string[] {
  const compiled = Compile(schema)
  return (value) => {
    const withNul = membersWithNul(value)
    if (compiled.Check(value) && withNul.length === 0) return []
    const faults = compiled.Errors(value).map(({ instancePath, message }) => `${placeOf(instancePath)} ${message}.`)
    faults.push(...withNul.map((name) => `${placeOf(`/${name}`)} contains NUL.`))
    return [...new Set(faults)].slice(0, FAULTS_AT_MOST)
  }
}

/** PostgreSQL cannot store NUL. Texts further inside of a body have rules of their own. */
function membersWithNul(value: unknown): string[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members.filter(([, text]) => typeof text === 'string' && text.includes('\0')).map(([name]) => name)
}

const checks = new Map<string, (value: unknown) => string[]>()

/** Throws a refusal with all faults. */
export function checkInput(operation: Operation, input: Members): void {
  const schema = inputSchema(operation)
  if (!schema) return
  const check = checks.get(operation.id) ?? compileCheck(schema, (pointer) => pointer.slice(1) || 'The input')
  checks.set(operation.id, check)
  const faults = check(input)
  if (faults.length > 0) throw invalid(faults)
}
