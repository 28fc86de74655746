/** A statement with named values, as SQLite knows them, made into PostgreSQL's numbered ones. */
import type { Clock } from './connection.ts'

export type Named = Readonly<Record<string, unknown>>

// The clock of the moment it is looked at, not of the statement's beginning: a statement that waited for another's lock
// is later than what it waited for, and must not take that for something from the future.
const DATABASE_CLOCK = 'floor(extract(epoch FROM clock_timestamp()))::bigint'

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

/** PostgreSQL keeps no character 0: a text with one was never stored, and is not asked for. */
export function isStorable(text: string): boolean {
  return !text.includes('\0')
}
