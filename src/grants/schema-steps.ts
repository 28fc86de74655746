/**
 * Which program may work on which database. The schema goes forward in numbered steps; each says how old a program may be
 * that goes on working once it is taken, and the database remembers what it said. So a program that does not know a step
 * can still read there whether the step concerns it: see docs/decisions/0005-versions-side-by-side.md.
 */
import { SchemaMismatch } from './ports.ts'

export type SchemaStep = {
  number: number
  name: string
  /**
   * The last step a program must at least know to go on working once this one is taken. A step that only adds (an expansion)
   * names an earlier one; a step that changes or takes away what programs use names itself.
   */
  oldest: number
}

/** A step as the database remembers it. `oldest` is null where a program took it that did not say. */
export type TakenStep = { number: number; name: string; applied_at: number; oldest: number | null }

/** Throws unless a program that knows these steps may work on a database that took those. */
export function requireWorkable(known: readonly SchemaStep[], taken: readonly TakenStep[]): void {
  refuseUnknown(known, taken)
  if (pendingSteps(known, taken).length > 0) throw new SchemaMismatch('The database is not up to date. Run: grantor migrate')
}

/** Throws where the database took a step that this program does not know and that leaves such a program behind. */
export function refuseUnknown(known: readonly SchemaStep[], taken: readonly TakenStep[]): void {
  const last = known.at(-1)?.number ?? 0
  // Nothing said counts as "leaves everybody behind who does not know it".
  if (taken.some(({ number, oldest }) => number > last && (oldest ?? number) > last))
    throw new SchemaMismatch('The database was made by a newer version of grantor than this one. Use that version.')
}

export function pendingSteps<Step extends SchemaStep>(known: readonly Step[], taken: readonly TakenStep[]): Step[] {
  const last = taken.at(-1)?.number ?? 0
  return known.filter(({ number }) => number > last)
}

/** Whether programs of the version that made this database go on working while the step is taken, and after it. */
export function isTakenWhileServing({ oldest }: SchemaStep, taken: readonly TakenStep[]): boolean {
  return oldest <= (taken.at(-1)?.number ?? 0)
}
