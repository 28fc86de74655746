/** Checks that a function accepts all values of some arbitraries. It is called with as many values as `runs` says. */
import * as fc from 'fast-check'
import { runs } from './runs.ts'

type Values = [unknown, ...unknown[]]
type Arbitraries<Of extends Values> = { [Index in keyof Of]: fc.Arbitrary<Of[Index]> }

/** The function throws, or returns false, for a value that breaks the property. */
export function forAll<Of extends Values>(...property: [...Arbitraries<Of>, (...values: Of) => boolean | void]): void {
  fc.assert(fc.property<Of>(...property), { numRuns: runs })
}

export async function forAllAsync<Of extends Values>(
  ...property: [...Arbitraries<Of>, (...values: Of) => Promise<boolean | void>]
): Promise<void> {
  await fc.assert(fc.asyncProperty<Of>(...property), { numRuns: runs })
}
