/** Converts values to the form in which they are sent to PostgreSQL. */

/** Columns for lists and objects are JSON; JSON writes numbers and booleans as PostgreSQL does. */
export function written(value: unknown): string | Buffer | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
