/** A statement with named values, as SQLite knows them, made into PostgreSQL's numbered ones. */
import type { Clock } from './connection.ts'

export type Named = Readonly<Record<string, unknown>>

// The statement's beginning, which is one moment for all of it: a distributed engine (Citus) takes no function in an
// update whose value could change under it, and finds rows by this one through an index. A statement that waited for
// another's lock is told the moment from before the wait; `LATE_BY_AT_MOST` allows for that.
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

/** PostgreSQL keeps no character 0: a text with one was never stored, and is not asked for. */
export function isStorable(text: string): boolean {
  return !text.includes('\0')
}

/** A list of texts as PostgreSQL writes one: the driver, which asks for no types, would not know how. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
}
