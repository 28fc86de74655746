/** A refusal of an operation. The API sends it as a problem document, the console shows it as a page, and a command prints it as a line. */
import type { Fault } from '../../domain/model/fault.ts'
import type { SubjectName } from './subject-name.ts'

export type RefusalCode =
  | 'invalid_request'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'changed_meanwhile'
  | 'idempotency_key_reused'

/** `taken`: a record with this id exists. `full`: the store has the most records of the kind. */
export type Conflict = 'taken' | 'full'

/** `message` and `faults` are sent to the caller. A fault names a member of the input. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly faults: readonly Fault[]
  /** of `not_found`: the record that does not exist */
  readonly missing: { subject: SubjectName; id: string } | undefined
  /** of `conflict`: why a new record cannot be stored */
  readonly conflict: Conflict | undefined

  constructor(
    code: RefusalCode,
    message: string,
    faults: readonly Fault[] = [],
    more: Pick<Partial<Refusal>, 'missing' | 'conflict'> = {},
  ) {
    super(message)
    this.code = code
    this.faults = faults
    this.missing = more.missing
    this.conflict = more.conflict
  }
}

export const HAS_FAULTS = 'The request has faults.'

export function invalid(faults: readonly Fault[], message = HAS_FAULTS): Refusal {
  return new Refusal('invalid_request', message, faults)
}

export function conflict(message: string, why?: Conflict): Refusal {
  return new Refusal('conflict', message, [], { conflict: why })
}

export function notFound(subject: SubjectName, id: string): Refusal {
  return new Refusal('not_found', `There is no such ${subject.slice(0, -1)}.`, [], { missing: { subject, id } })
}
