/** Performs a run with the seed of this process, prints its figures, and checks it against the invariants. */
import { expect } from 'vitest'
import { readSeed, seeded } from './random.ts'
import { explain, recoveryTimes, summarize } from './report.ts'
import { performRun, type Run } from './run.ts'

const seed = readSeed()
/**
 * The service promises ten seconds. The figures of a run show its recovery times, and docs/evidence/reliability.md those of a quiet machine.
 * This bound finds a service that does not recover by itself, and not a busy machine.
 */
const MAX_RECOVERY_SECONDS = 120

const PEOPLE = { people: 6, contractPeople: 2, racers: 50 }

/** Milliseconds that a test may take beside its load. They only end what hangs. */
export const PATIENCE_MS = 600_000

/** The duration of the load of one run in seconds: TEST_CHAOS_SECONDS, or 2. */
export const seconds = readSeconds(process.env.TEST_CHAOS_SECONDS)

function readSeconds(text = '2'): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`TEST_CHAOS_SECONDS must be a number from 1 to 9999, not "${text}"`)
  return Number(text)
}

export async function prove(
  run: Omit<Run, 'seed' | 'seconds' | keyof typeof PEOPLE> & Partial<typeof PEOPLE>,
  annotate: (text: string) => Promise<unknown>,
): Promise<void> {
  // Each run has its own seed, so that a run alone is the same as among others.
  const runSeed = seeded(seed)
    .stream(run.name)
    .below(2 ** 32)
  const outcome = await performRun({ ...PEOPLE, ...run, seed: runSeed, seconds })
  const figures = `TEST_SEED=${seed}: ${summarize(outcome)}`
  console.info(`${run.name}\n  ${figures}`)
  await annotate(figures)
  const { alarms, brokenTrail, recovered } = outcome
  const violations = outcome.violations.slice(0, 5).map(explain)
  const late = recoveryTimes(outcome.history, outcome.marks).filter(({ seconds }) =>
    seconds.some((each) => each > MAX_RECOVERY_SECONDS),
  )
  // The figures are part of the comparison, so that the message of a failure has the seed.
  const clean = { figures, violations: [], alarms: [], brokenTrail: null, recovered: true, late: [] }
  expect({ figures, violations, alarms, brokenTrail, recovered, late }).toEqual(clean)
}
