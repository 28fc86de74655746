/** Performs a run with the seed of this process, tells its figures, and holds it to the invariants. */
import { expect } from 'vitest'
import { readSeed, seeded } from './random.ts'
import { explain, returns, summarize } from './report.ts'
import { perform, type Run } from './run.ts'

const seed = readSeed()
/** Twice the ten seconds after which the service is to be back, because tests share their machine with others. */
const PATIENCE_SECONDS = 20

/** How long the load of one run lasts; short unless TEST_CHAOS_SECONDS says how long. */
export const seconds = readSeconds(process.env.TEST_CHAOS_SECONDS)

function readSeconds(text = '2'): number {
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`TEST_CHAOS_SECONDS must be a number from 1 to 9999, not "${text}"`)
  return Number(text)
}

export async function prove(
  run: Omit<Run, 'seed' | 'seconds' | 'people' | 'contractPeople' | 'racers'>,
  annotate: (text: string) => Promise<unknown>,
): Promise<void> {
  // Of its own for each run, so that one run alone is the same as among the others.
  const own = seeded(seed)
    .stream(run.name)
    .below(2 ** 32)
  const outcome = await perform({ ...run, seed: own, seconds, people: 6, contractPeople: 2, racers: 50 })
  const figures = `TEST_SEED=${seed}: ${summarize(outcome)}`
  console.info(`${run.name}\n  ${figures}`)
  await annotate(figures)
  const { alarms, recovered } = outcome
  const violations = outcome.violations.slice(0, 5).map(explain)
  const late = returns(outcome.history, outcome.marks).filter(({ seconds }) => seconds.some((each) => each > PATIENCE_SECONDS))
  // The figures stand beside, so that the seed is in the message of a failure.
  const clean = { figures, violations: [], alarms: [], recovered: true, late: [] }
  expect({ figures, violations, alarms, recovered, late }).toEqual(clean)
}
