/** The store's revision: one row that grows with every change of a client or a key, and remembers the latest of them. */
import { RECENT_AT_MOST } from '../../grants/changes.ts'

/** Makes a change of a client or a key raise the revision, in one statement, where it changed something. */
export function raising(change: string): string {
  return `
    WITH changed AS (${change} RETURNING id)
    UPDATE revision
    SET number = number + 1,
        recent = right(recent || ' ' || (number + 1) || ':' || (SELECT id FROM changed), ${RECENT_AT_MOST})
    WHERE id = 1 AND EXISTS (SELECT FROM changed)
    RETURNING number`
}

// With what time it is here: nodes follow this clock (`grants/store-clock.ts`). Of the moment it is looked at, to the millisecond.
export const READ_REVISION =
  'SELECT number, extract(epoch FROM clock_timestamp())::double precision AS now FROM revision WHERE id = 1'
export const READ_CHANGES = 'SELECT number, recent FROM revision WHERE id = 1'
/** Writes, and changes nothing. */
export const PROBE = 'UPDATE revision SET number = number WHERE id = 1'
