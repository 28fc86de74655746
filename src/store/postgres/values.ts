/** Values on their way to PostgreSQL and back, in its text form. */

/** How a value is written. Columns for lists and objects are JSON's. */
export function written(value: unknown): string | Buffer | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (typeof value === 'string') return value
  // Lists and objects as JSON says them; numbers and booleans as both say them.
  return JSON.stringify(value)
}

export type Reader = (text: string) => unknown

const asBoolean: Reader = (text) => text === 't'
const asJson: Reader = (text) => JSON.parse(text)
// A database may be set to write bytes in another way (bytea_output = escape), which nobody has used for years.
const asBytes: Reader = (text) => {
  if (!text.startsWith('\\x')) throw new TypeError('PostgreSQL wrote bytes in another way than in hexadecimal')
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}

// By the numbers PostgreSQL gives its own types, the same in every database (pg_type.dat): boolean, bytes, the whole numbers
// (ours stay far below 2^53), the floating ones, json and jsonb. Everything else is read as it is written.
const READERS: Record<number, Reader> = {
  16: asBoolean,
  17: asBytes,
  20: Number,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: asJson,
  3802: asJson,
}

/** How a value of the type with this number is read. */
export function readerOf(type: number): Reader {
  return READERS[type] ?? asItIs
}

function asItIs(text: string): string {
  return text
}
