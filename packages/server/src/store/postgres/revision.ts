/** The store's revision: one row with a number that grows with each change of a client, a key or a resource, and with the latest of these changes. */
import { RECENT_AT_MOST } from '../../domain/model/changes.ts'
import type { PostgresConnection } from './statements/connection.ts'

/**
 * Extends a change of one record so that the same statement raises the revision, if a row was changed. `:listedAs` is listed among the recent
 * changes.
 */
export function withRaisedRevision(change: string): string {
  return `
    WITH changed AS (${change} RETURNING 1)
    UPDATE revision
    SET number = number + 1, recent = right(recent || ' ' || (number + 1) || ':' || :listedAs::text, ${RECENT_AT_MOST})
    WHERE id = 1 AND EXISTS (SELECT FROM changed)
    RETURNING number`
}

/** The same for a change of several records. The change returns the `key` of each changed row, which is also what the revision lists. */
export function withRaisedRevisionForEach(change: string): string {
  return `
    WITH changed AS (${change}),
    numbered AS (SELECT key, row_number() OVER () AS position FROM changed),
    raised AS (
      UPDATE revision
      SET number = number + (SELECT count(*) FROM changed),
          recent = right(recent || (SELECT string_agg(' ' || (number + position) || ':' || key, '' ORDER BY position) FROM numbered),
                         ${RECENT_AT_MOST})
      WHERE id = 1 AND EXISTS (SELECT FROM changed))
    SELECT key FROM changed`
}

/** Prepares the confirmation that what was found in a table of the coordinator is durable. */
export function prepareRecordConfirmation(connection: PostgresConnection): ReturnType<PostgresConnection['prepareConfirmation']> {
  return connection.prepareConfirmation('revision WHERE id = 1')
}

// Together with the database's time in seconds, with which nodes synchronise (`domain/model/store-clock.ts`), whether commits wait
// for a standby, and whether the extension Citus exists.
export const READ_REVISION = `SELECT number, extract(epoch FROM clock_timestamp())::double precision AS now,
     current_setting('synchronous_standby_names') <> '' AS replicated, to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL AS "hasShards"
   FROM revision WHERE id = 1`
export const READ_CHANGES = 'SELECT number, recent FROM revision WHERE id = 1'
/** A write that changes nothing. */
export const PROBE = 'UPDATE revision SET number = number WHERE id = 1'
