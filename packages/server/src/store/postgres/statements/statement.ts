/** Compiles statements with named values, in SQLite's syntax, to PostgreSQL's numbered values. */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { unpack } from '../../packed.ts'
import type { CheckedClient } from '../connection/client.ts'
import { hexOf, packedArray, written, writtenPacked, writtenPackedList } from './values.ts'

/**
 * The clock for the time of a change. `database`: the database's clock replaces the caller's `at`, so that nodes with different clocks use
 * the same time. `given`: the caller's `at`, for tests with a fake clock.
 */
export type Clock = 'database' | 'given'

export type NamedValues = Readonly<Record<string, unknown>>

/**
 * - `read`: changes nothing
 * - `move`: can be repeated. The repetition changes nothing more, and returns what the caller needs of the first result
 * - `once`: returns another result if it is repeated after it took effect. It is not retried if it may have taken effect
 */
export type StatementKind = 'read' | 'move' | 'once'

/**
 * What a statement concerns: one row of a table, found by the parameter `key`, or several rows of the table. On a cluster the key is the column
 * by which the table is distributed.
 */
export type RowLocation = { table: string; key?: string; lock?: WalletLock }

/** A location with a key. */
export type KeyedLocation = RowLocation & { key: string }

/** The lock of a wallet that a statement holds until it is committed, if all rows are on one primary (`wallet-lock.ts`). `wallet`: the parameter. */
export type WalletLock = { mode: 'shared' | 'alone'; wallet: string }

/** `send`: sends several queries in place of this one, as one transaction. */
export type Query = {
  name: string
  text: string
  values: unknown[]
  send?: (client: CheckedClient) => Promise<pg.QueryResult<object>>
}

/** A statement with its values. */
export type Statement = {
  kind: StatementKind
  query: Query
  place?: RowLocation | undefined
  /** the value of the parameter `place.key` */
  key?: string | undefined
  /** the statement may run on this server only */
  instance?: string | undefined
  /** of a batch: the statement for each row alone, and the key of the row */
  batch?: readonly { query: Query; key: string }[] | undefined
}

/** A statement for one row, and the same statement for many rows: `forMany` reads its parameters from the columns of `input`. */
export type ForMany = {
  kind: 'read' | 'move'
  one: string
  forMany: string
  /** the parameters, and the types of their columns */
  parameters: Readonly<Record<string, ColumnType>>
  /** the row that the statement concerns */
  place: KeyedLocation
}

/**
 * `deadline` replaces the usual deadline, `PATIENCE_MS` after the call. `instance` is the start time of a server: the statement fails on every
 * other server.
 */
export type Ask<Row> = (named?: NamedValues, deadline?: number, instance?: string) => Promise<Row[]>

export type Batched = ForMany & {
  /** the column that returns the key of the row */
  column: string
  /** whether `forMany` skips rows that another transaction has locked. `one` is then run for each skipped row, and waits for the lock */
  skipsLocked: boolean
}

// The time at which the statement began, which is the same for all rows. In an update, Citus does not allow a function whose value may differ
// from row to row. A statement that waits for a lock uses the time before the wait. `LATE_BY_AT_MOST` allows for the difference.
const DATABASE_CLOCK = 'floor(extract(epoch FROM statement_timestamp()))::bigint'

/** A commit that changes nothing. When the synchronous standby has this commit, the standby also has every earlier commit. */
export const COMMIT = `CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'grantor', '') END`

/** `valuesOf` returns the named values in the order of the text. Throws if a name has no value, which is a defect of the caller. */
export function compile(
  sql: string,
  clock: Clock,
): { text: string; valuesOf: (named: NamedValues) => (string | Buffer | null)[] } {
  const parameters: { text: string; name: string; write: (value: unknown) => string | Buffer | null }[] = []
  const text = sql.replace(PARAMETER, (parameter, name: string, form?: Form) => {
    if (name === 'at' && clock === 'database') return DATABASE_CLOCK
    if (!parameters.some((each) => each.text === parameter))
      parameters.push({ text: parameter, name, write: WRITERS[form ?? ''] })
    const place = `$${parameters.findIndex((each) => each.text === parameter) + 1}`
    if (form) return `${place}${form.replace('packed', 'bytea')}`
    return name === 'at' ? `${place}::bigint` : place
  })
  const valuesOf = (named: NamedValues) =>
    parameters.map(({ name, write }) => {
      const value = named[name]
      if (value === undefined) throw new TypeError(`the statement has no value for ${name}`)
      return write(value)
    })
  return { text, valuesOf }
}

/** A parameter. `:name::packed` is the packed form of a text (`../../packed.ts`), `:name::packed[]` the packed forms of a list. */
const PARAMETER = /(?<!:):(\w+)(::packed(?:\[\])?)?/g
type Form = '::packed' | '::packed[]'
const WRITERS = { '': written, '::packed': writtenPacked, '::packed[]': writtenPackedList }

/** A list of texts, as PostgreSQL writes an array. */
export function textArray(texts: TextArray): string {
  return `{${texts.map((text) => (text === null ? 'NULL' : `"${isPlain(text) ? text : text.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`
}

/** Most texts are plain. The replacement takes five times as long as this check. */
const isPlain = (text: string): boolean => !text.includes('"') && !text.includes('\\')

/** The values of one row, in the order of the columns. */
type TextArray = readonly (string | null)[]
/** `packed`: the packed form of a text, in a column of the type `bytea`. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'boolean' | 'jsonb' | 'packed'

/**
 * Compiles a statement over many rows. The parameters are the columns of the relation `input`. A statement that begins with a comma adds
 * relations to the WITH clause.
 */
export function compileForMany(
  sql: string,
  parameters: Readonly<Record<string, ColumnType>>,
  clock: Clock,
): { text: string; rowValues: (row: NamedValues) => TextArray; valuesOf: (rows: readonly TextArray[]) => string[] } {
  const usesGivenMoment = clock === 'given' && /(?<!:):at\b/.test(sql)
  const columns: [string, ColumnType][] = Object.entries({ ...parameters, ...(usesGivenMoment ? { at: 'bigint' as const } : {}) })
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type === 'packed' ? 'bytea' : type}[]`).join(', ')
  const names = columns.map(([name]) => `"${name}"`).join(', ')
  const body = sql.replace(PARAMETER, (_, name: string) =>
    name === 'at' && clock === 'database' ? DATABASE_CLOCK : `input."${name}"`,
  )
  const text = `WITH input AS (SELECT * FROM unnest(${arrays}) AS input(${names}))${body}`
  return {
    text,
    rowValues: (row) => columns.map(([name, type]) => asText(row[name], name, type)),
    valuesOf: (rows) =>
      columns.map(([, type], index) => {
        const values = rows.map((row) => row[index] ?? null)
        return type === 'packed' ? packedArray(values) : textArray(values)
      }),
  }
}

function asText(value: unknown, name: string, type: ColumnType): string | null {
  if (value === undefined) throw new TypeError(`the statement has no value for ${name}`)
  if (type === 'packed') return value === null ? null : hexOf(value as string)
  const text = written(value)
  return text === null || typeof text === 'string' ? text : text.toString()
}

/** The name of a prepared statement is a hash of its text. Two statements never share a name. */
export function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** The value of the parameter that names the row, as a text. */
export function keyOf(place: RowLocation | undefined, named: NamedValues): string | undefined {
  const key = place?.key === undefined ? undefined : named[place.key]
  if (key instanceof Uint8Array) return unpack(key)
  return typeof key === 'string' ? key : undefined
}
