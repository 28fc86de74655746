/**
 * Draws on PostgreSQL: one statement, which changes the row of the grant under one condition, and inserts the row of the draw. If no row changed, the rows
 * are read, and `domain/model/draws.ts` decides about them. The condition is true exactly if the function decides to draw.
 *
 * The statement finds the rows of a grant and its draws on the same machine. The counts of a grant that other requests change meanwhile are read again
 * after the wait for the lock of its row, as PostgreSQL does for each condition and each value of an update.
 */
import { PERIODS } from '@grantor/protocol/limit'
import type { DrawRequest, DrawStore } from '../../domain/model/draw-store.ts'
import { DRAWS_OF_GRANT_AT_MOST, decideDraw, decideReturn } from '../../domain/model/draws.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { DRAW_COLUMNS, DRAW_VALUES, type DrawRow, type DrawValues, drawOf, drawWith } from '../draw-row.ts'
import { codeOf } from './connection/errors.ts'
import { RESERVED, TRIES_AT_MOST, UNLOCKED, VALIDITY_COLUMNS, type ValidityRow, validityOf } from './grant-statements.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { textArray } from './statements/statement.ts'
import { hexOf } from './statements/values.ts'

/** The row of the draw, and on a cluster the machine of its grant. */
const DRAW = { table: 'draws', key: 'grantId' } as const

const IS_KEY = 'draws.grant_id = :grantId::packed AND draws.client_id = :clientId::packed AND draws.key = :key::packed'

const limitOf = (member: string): string => `(grants.signed_limit #>> '{limit,${member}}')::bigint`
const SIGNED_AT = "(grants.signed_limit ->> 'signedAt')::bigint"
/** NULL for a limit without a period. Each case is a condition: Citus writes `CASE per WHEN 'day'` as a comparison of a text with a boolean. */
const LENGTH = `CASE ${Object.entries(PERIODS)
  .map(([per, seconds]) => `WHEN grants.signed_limit #>> '{limit,per}' = '${per}' THEN ${seconds}::bigint`)
  .join(' ')} END`
/** The begin of the period by the clock alone. Without a period, `greatest` ignores the NULL. */
const BEGUN = `greatest(${SIGNED_AT}, ${SIGNED_AT} + (:at - ${SIGNED_AT}) / ${LENGTH} * ${LENGTH})`
/** 1 if the counts in the row belong to the present period, otherwise 0. Citus does not allow a clock inside CASE or COALESCE. */
const IS_SAME_PERIOD = `(coalesce(grants.drawn_from, 0) >= ${BEGUN})::integer`
const USED = `coalesce(grants.drawn_uses, 0) * ${IS_SAME_PERIOD}`
const SPENT = `coalesce(grants.drawn_amount, 0) * ${IS_SAME_PERIOD}`
const AMOUNT = 'coalesce(:amount::bigint, 0)'

const IS_DRAWABLE = `
  grants.id = :grantId::packed AND grants.ended_at IS NULL AND grants.expires_at > :at
    AND grants.attempt_id <> '${hexOf(RESERVED)}' AND NOT grants.revoked_tokens ?| :jtis::text[]
    AND coalesce(:resource::text, grants.signed_limit ->> 'resource') = (grants.signed_limit ->> 'resource')
    AND grants.signed_limit ->> 'scope' = ANY (:tokenScopes::text[])
    AND (:amount::bigint IS NULL) = (${limitOf('amount')} IS NULL) AND ${AMOUNT} <= coalesce(${limitOf('each')}, 0)
    AND coalesce(grants.draw_count, 0) < ${DRAWS_OF_GRANT_AT_MOST} AND ${USED} < ${limitOf('uses')}
    AND ${SPENT} + ${AMOUNT} <= coalesce(${limitOf('amount')}, 0)`

// A repeated request changes nothing, so that it neither waits for the row of the draw nor fails with an error. Of two equal requests at once, the second
// fails at the primary key, and the change of the grant is undone.
const IS_NEW = `NOT EXISTS (SELECT 1 FROM draws WHERE ${IS_KEY})`

const COUNT = `
    UPDATE grants SET drawn_from = greatest(grants.drawn_from, ${BEGUN}), drawn_uses = (${USED} + 1)::integer,
      drawn_amount = ${SPENT} + ${AMOUNT}, draw_count = coalesce(grants.draw_count, 0) + 1`
const COUNTED = `
    RETURNING grants.id, grants.draw_count, grants.drawn_from, grants.drawn_from + ${LENGTH} AS period_end,
      least(${limitOf('uses')} - grants.drawn_uses, ${DRAWS_OF_GRANT_AT_MOST} - grants.draw_count) AS left_uses,
      ${limitOf('amount')} - grants.drawn_amount AS left_amount`
const INSERT = `
  INSERT INTO draws (grant_id, number, period_from, period_end, left_uses, left_amount, client_id, key, amount, at)
  SELECT counted.id, counted.draw_count, counted.drawn_from, counted.period_end, counted.left_uses, counted.left_amount,`

const DRAW_ONCE = {
  one: `
  WITH counted AS (${COUNT}
    WHERE ${IS_DRAWABLE} AND ${IS_NEW}${COUNTED})${INSERT}
         :clientId::packed, :key::packed, :amount::bigint, :at
  FROM counted
  RETURNING ${DRAW_COLUMNS}`,
  forMany: `${UNLOCKED},
  counted AS (${COUNT}
    FROM input JOIN unlocked ON unlocked.id = :grantId::packed
    WHERE ${IS_DRAWABLE} AND ${IS_NEW}${COUNTED},
      :clientId::packed AS client_id, :key::packed AS key, :amount AS amount, :at AS at)${INSERT}
         counted.client_id, counted.key, counted.amount, counted.at
  FROM counted
  RETURNING ${DRAW_COLUMNS}`,
  parameters: {
    grantId: 'packed',
    clientId: 'packed',
    key: 'packed',
    // Arrays written as text, because unnest flattens arrays of arrays.
    jtis: 'text',
    tokenScopes: 'text',
    resource: 'text',
    amount: 'bigint',
  },
} as const

const GIVE_BACK = `
  WITH back AS (
    UPDATE draws SET returned = ${AMOUNT}
    WHERE ${IS_KEY} AND draws.returned IS NULL AND (:amount::bigint IS NULL) = (draws.amount IS NULL)
      AND ${AMOUNT} <= coalesce(draws.amount, 0)
    RETURNING ${DRAW_COLUMNS})
  UPDATE grants SET drawn_uses = grants.drawn_uses - (back.returned = coalesce(back.amount, 0))::integer,
    drawn_amount = grants.drawn_amount - back.returned
  FROM back
  WHERE grants.id = :grantId::packed AND grants.drawn_from = back.period_from AND (back.period_end IS NULL OR back.period_end > :at)
  RETURNING ${DRAW_COLUMNS.replaceAll('draws.', 'back.')}`

const READ = `SELECT ${DRAW_COLUMNS} FROM draws WHERE ${IS_KEY}`

// One statement: the counts of the grant contain the draw exactly if its row is there. Two could read two servers, of which the second lacks the draw.
// `now`: the time of the read, by the clock that the store uses.
const READ_BOTH = `
  SELECT ${VALIDITY_COLUMNS}, :at AS now, ${DRAW_VALUES} FROM grants LEFT JOIN draws ON ${IS_KEY} WHERE grants.id = :grantId::packed`
type GrantAndDraw = ValidityRow & { now: number } & (DrawValues | { number: null })

// The rows of one grant are sorted: no index has their order.
const LIST = `
  SELECT ${DRAW_COLUMNS} FROM draws WHERE draws.grant_id = :grantId::packed AND draws.number < :beforeNumber::bigint
  ORDER BY draws.number DESC LIMIT :limit`

export function createDrawStore(connection: PostgresConnection): DrawStore {
  return { ...drawing(connection), ...returning(connection), ...readingDraws(connection) }
}

const prepareConfirmation = (connection: PostgresConnection) => connection.prepareConfirmation(`draws WHERE ${IS_KEY}`, DRAW)

const prepareRead = (connection: PostgresConnection) => connection.prepare<DrawRow>('read', READ, DRAW)

/** The code of a row whose key exists. */
const IS_TAKEN = '23505'

function drawing(connection: PostgresConnection): Pick<DrawStore, 'draw'> {
  const drawOnce = connection.prepareBatched<DrawRow>({
    ...DRAW_ONCE,
    kind: 'move',
    place: DRAW,
    column: 'grant_id',
    skipsLocked: true,
  })
  const readBoth = connection.prepare<GrantAndDraw>('read', READ_BOTH, DRAW)
  const confirm = prepareConfirmation(connection)

  async function insert(request: DrawRequest): Promise<DrawRow | undefined> {
    const { jti, exchangedFrom = [], scopes, ...named } = request
    const values = { ...named, jtis: textArray([jti, ...exchangedFrom]), tokenScopes: textArray(scopes) }
    try {
      return (await drawOnce(values))[0]
    } catch (error) {
      // An equal request was committed meanwhile.
      if (codeOf(error) === IS_TAKEN) return undefined
      throw error
    }
  }

  return {
    async draw(request) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        const inserted = await insert(request)
        if (inserted) return { kind: 'drawn', draw: drawOf(inserted), isAgain: false }
        const [row] = await readBoth(request)
        const draw = row && row.number !== null ? drawWith(request, row) : null
        const decision = decideDraw({ grant: row ? validityOf(row) : null, draw }, { ...request, at: row?.now ?? request.at })
        // Something was given back meanwhile, or another server took over.
        if (decision.change === 'draw') continue
        if (decision.outcome.kind === 'drawn') await confirm(request)
        return decision.outcome
      }
      throw new StoreUnavailable('other requests keep changing the grant')
    },
  }
}

function returning(connection: PostgresConnection): Pick<DrawStore, 'giveBack'> {
  const giveBack = connection.prepare<DrawRow>('move', GIVE_BACK, DRAW)
  const read = prepareRead(connection)
  const confirm = prepareConfirmation(connection)
  return {
    async giveBack(key, given) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        const [returned] = await giveBack({ ...key, ...given })
        if (returned) return { kind: 'returned', draw: drawOf(returned) }
        // The row of the draw may have changed alone: its period is over.
        const [row] = await read(key)
        const decision = decideReturn(row ? drawOf(row) : null, null, given)
        // Another server took over meanwhile.
        if (decision.change === 'return') continue
        if (decision.outcome.kind === 'returned') await confirm(key)
        return decision.outcome
      }
      throw new StoreUnavailable('other requests keep changing the draw')
    },
  }
}

function readingDraws(connection: PostgresConnection): Pick<DrawStore, 'readDraw' | 'listDraws'> {
  const read = prepareRead(connection)
  const list = connection.prepare<DrawRow>('read', LIST, DRAW)
  return {
    async readDraw(key) {
      const [row] = await read(key)
      return row ? drawOf(row) : null
    },
    listDraws: async (grantId, { before = DRAWS_OF_GRANT_AT_MOST + 1, limit }) =>
      (await list({ grantId, beforeNumber: before, limit })).map(drawOf),
  }
}
