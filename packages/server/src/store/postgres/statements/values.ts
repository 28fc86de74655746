/** Converts values to the form in which they are sent to PostgreSQL. */

import { pack } from '../../packed.ts'

/** Columns for lists and objects are JSON; JSON writes numbers and booleans as PostgreSQL does. */
export function written(value: unknown): string | Buffer | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `value`: a text, or a bound of all packed texts. */
export function writtenPacked(value: unknown): Buffer | null {
  if (value === null) return null
  return value instanceof Uint8Array ? Buffer.from(value) : pack(value as string)
}

/** A list of texts as an array of `bytea`. */
export const writtenPackedList = (value: unknown): string => packedArray((value as string[]).map(hexOf))

/** An array of `bytea`, from values that `hexOf` returned. */
export const packedArray = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"\\${value}"`)).join(',')}}`

/** The packed form as PostgreSQL writes `bytea` in a text. */
export const hexOf = (text: string): string => `\\x${pack(text).toString('hex')}`
