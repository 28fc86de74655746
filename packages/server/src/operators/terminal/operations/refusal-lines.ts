/** A refusal as an error of a command. */
import { subjects } from '../../operations/all.ts'
import { HAS_FAULTS, Refusal } from '../../operations/refusal.ts'
import { CommandError, UsageError } from '../command.ts'

/** Returns any other error unchanged. */
export function commandErrorOf(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const { code, message, missing } = error
  const faults = error.faults.map(({ words }) => words)
  if (missing) return new CommandError(missingLine(missing.subject, missing.id))
  if (code !== 'invalid_request') return new CommandError(asLine(message))
  // The faults are more precise than the general sentence.
  if (message === HAS_FAULTS) return new UsageError(faults.map(asLine))
  return new UsageError([asLine(message), ...faults.map((words) => `- ${words}`)])
}

function missingLine(name: string, id: string): string {
  const subject = subjects.find((each) => each.name === name)
  return `there is no ${subject?.noun ?? name.slice(0, -1)} ${JSON.stringify(id)}${subject ? `; see: grantor ${name} list` : ''}`
}

/** "Public clients have no secret." is printed after the name of the program. An abbreviation such as URL stays. */
export function asLine(sentence: string): string {
  if (/^[A-Z]{2}/.test(sentence)) return sentence
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '')
}
