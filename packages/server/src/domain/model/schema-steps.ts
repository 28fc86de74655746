/**
 * Decides whether a program may work on a database. The schema changes in numbered steps. Each step names the oldest program that
 * still works after the step, and the database stores this number. So a program can read whether a step of a
 * later version is supported: see docs/decisions/0028-processes-and-updates.md.
 */
import { SchemaMismatch } from './store-errors.ts'

export type SchemaStep = {
  number: number
  name: string
  /**
   * After this step, only programs that include the step with this number still work. A step that only adds something (an expansion)
   * names an earlier step. A step that changes or removes what programs use names itself.
   */
  oldest: number
}

/** A step that the database has stored as taken. `oldest` is null if the program that took the step allows no older program. */
export type TakenStep = { number: number; name: string; applied_at: number; oldest: number | null }

const NEVER_RELEASED =
  'The database was made by a version from before the first release, and cannot be migrated. Run grantor export with that version, then grantor migrate and grantor apply with this version on a new database. docs/operating/upgrade.md lists what is lost.'

/** Throws unless a program with the steps `known` may work on a database with the steps `taken`. */
export function requireWorkable(known: readonly SchemaStep[], taken: readonly TakenStep[]): void {
  refuseUnknown(known, taken)
  if (pendingSteps(known, taken).length > 0) throw new SchemaMismatch('The database is not up to date. Run: grantor migrate')
}

/** Throws if the database has taken a step that is newer than this program and that this program does not support. */
export function refuseUnknown(known: readonly SchemaStep[], taken: readonly TakenStep[]): void {
  const last = known.at(-1)?.number ?? 0
  // If a step has no `oldest`, only programs that include the step are supported.
  if (taken.some(({ number, oldest }) => number > last && (oldest ?? number) > last))
    throw new SchemaMismatch('The database was made by a newer version of grantor than this one. Use that version.')
}

/** Throws if no step leads from the database to the schema of this program. */
export function pendingSteps<Step extends SchemaStep>(known: readonly Step[], taken: readonly TakenStep[]): Step[] {
  const first = known[0]?.number ?? 0
  if (taken.some(({ number }) => number < first)) throw new SchemaMismatch(NEVER_RELEASED)
  const last = taken.at(-1)?.number ?? 0
  return known.filter(({ number }) => number > last)
}

/** Whether programs of the version that made this database keep working during and after the step. */
export function isTakenWhileServing({ oldest }: SchemaStep, taken: readonly TakenStep[]): boolean {
  return oldest <= (taken.at(-1)?.number ?? 0)
}
