/** Statements with named values, as SQLite has them, compiled to PostgreSQL's numbered ones. */
import type { Clock } from './connection.ts'
import { written } from './values.ts'

export type Named = Readonly<Record<string, unknown>>

// The start of the statement, which is the same for all rows. Citus does not allow a function in an update whose value may differ from
// row to row. A statement that waited for a lock uses the time at which it began, before the wait; `LATE_BY_AT_MOST` allows for that.
const DATABASE_CLOCK = 'floor(extract(epoch FROM statement_timestamp()))::bigint'

/** `valuesOf` puts named values in the order of the text. A name that is missing is a defect. */
export function compile(sql: string, clock: Clock): { text: string; valuesOf: (named: Named) => unknown[] } {
  const names: string[] = []
  const text = sql.replace(/(?<!:):(\w+)/g, (_, name: string) => {
    if (name === 'at' && clock === 'database') return DATABASE_CLOCK
    if (!names.includes(name)) names.push(name)
    const place = `$${names.indexOf(name) + 1}`
    return name === 'at' ? `${place}::bigint` : place
  })
  const valuesOf = (named: Named): unknown[] =>
    names.map((name) => {
      const value = named[name]
      if (value === undefined) throw new TypeError(`the statement has no value for ${name}`)
      return value
    })
  return { text, valuesOf }
}

/** A list of texts, as PostgreSQL writes an array. */
export function textArray(texts: Texts): string {
  return `{${texts.map((text) => (text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`
}

/** The values of one row, in the order of the columns. */
type Texts = readonly (string | null)[]
export type ColumnType = 'text' | 'bigint' | 'boolean' | 'jsonb'

/**
 * Compiles a statement over many rows, whose parameters are the columns of the relation `input`. A statement that begins
 * with a comma adds relations of its own to the WITH clause.
 */
export function compileForMany(
  sql: string,
  parameters: Readonly<Record<string, ColumnType>>,
  clock: Clock,
): { text: string; rowValues: (row: Named) => Texts; valuesOf: (rows: readonly Texts[]) => string[] } {
  const usesGivenMoment = clock === 'given' && /(?<!:):at\b/.test(sql)
  const columns: [string, ColumnType][] = Object.entries({ ...parameters, ...(usesGivenMoment ? { at: 'bigint' as const } : {}) })
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')
  const names = columns.map(([name]) => `"${name}"`).join(', ')
  const body = sql.replace(/(?<!:):(\w+)/g, (_, name: string) =>
    name === 'at' && clock === 'database' ? DATABASE_CLOCK : `input."${name}"`,
  )
  const text = `WITH input AS (SELECT * FROM unnest(${arrays}) AS input(${names}))${body}`
  return {
    text,
    rowValues: (row) => columns.map(([name]) => asText(row[name], name)),
    valuesOf: (rows) => columns.map((_, index) => textArray(rows.map((row) => row[index] ?? null))),
  }
}

function asText(value: unknown, name: string): string | null {
  if (value === undefined) throw new TypeError(`the statement has no value for ${name}`)
  const text = written(value)
  return text === null || typeof text === 'string' ? text : text.toString()
}
