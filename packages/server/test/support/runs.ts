/** The number of runs of a property test: TEST_RUNS, or 100 (`npm run test:long`). */
export const runs = readRuns(process.env.TEST_RUNS)

function readRuns(text = '100'): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text)) throw new Error(`TEST_RUNS must be a number from 1 to 9999999, not "${text}"`)
  return Number(text)
}
