/** How often a test repeats its work. */

/** The number of repetitions of a test: the value of this environment variable, or `preset`. */
export function howMany(setting: `TEST_${string}`, preset: number): number {
  const text = process.env[setting] ?? String(preset)
  if (!/^[1-9][0-9]{0,7}$/.test(text)) throw new Error(`${setting} must be a number from 1 to 99999999, not "${text}"`)
  return Number(text)
}

/** The number of runs of a property test (`npm run test:long`). */
export const runs = howMany('TEST_RUNS', 100)
