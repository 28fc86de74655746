/** Reads one row by its key. */
import type { PostgresConnection } from './statements/connection.ts'
import type { Ask, KeyedLocation } from './statements/statement.ts'

/**
 * Prepares the read of one row, whose key is packed (`../packed.ts`). Reads that arrive together are one statement, so the reads that any caller can cause, by a cookie or by the name
 * of a request, take few connections (docs/decisions/0012-bounds-of-callers.md). The column `key` must be in `columns` with the name
 * of its table.
 */
export function prepareReadByKey<Row>(connection: PostgresConnection, place: KeyedLocation, columns: string): Ask<Row> {
  const { table, key } = place
  return connection.prepareBatched<Row>({
    kind: 'read',
    one: `SELECT ${columns} FROM ${table} WHERE ${key} = :${key}::packed`,
    forMany: ` SELECT ${columns} FROM input JOIN ${table} ON ${table}.${key} = :${key}::packed`,
    parameters: { [key]: 'packed' },
    place,
    column: key,
    skipsLocked: false,
  })
}
