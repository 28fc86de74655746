/** Draws on SQLite. A draw and a return are one transaction, which reads the rows, decides (`domain/model/draws.ts`), and changes the rows. */
import type { Draw, DrawKey, DrawOutcome, DrawStore, ReturnOutcome } from '../../domain/model/draw-store.ts'
import { DRAWS_OF_GRANT_AT_MOST, decideDraw, decideReturn } from '../../domain/model/draws.ts'
import type { Drawn } from '../../domain/model/records.ts'
import { DRAW_COLUMNS, type DrawRow, drawOf, packedKey } from '../draw-row.ts'
import { pack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'
import { READ_VALIDITY, rowOf, validityOf } from './grant-statements.ts'

const IS_KEY = 'grant_id = :grantId AND client_id = :clientId AND key = :key'

const READ = `SELECT ${DRAW_COLUMNS} FROM draws WHERE ${IS_KEY}`

const INSERT = `
  INSERT INTO draws (grant_id, client_id, key, number, amount, at, left_uses, left_amount, period_from, period_end)
  VALUES (:grantId, :clientId, :key, :number, :amount, :at, :leftUses, :leftAmount, :from, :until)`

const COUNT = `
  UPDATE grants SET drawn_from = :from, drawn_uses = :uses, drawn_amount = :amount, draw_count = :draws WHERE id = :grantId`

const RETURN = `UPDATE draws SET returned = :returned WHERE ${IS_KEY}`

const LIST = `
  SELECT ${DRAW_COLUMNS} FROM draws WHERE grant_id = :grantId AND number < :before ORDER BY number DESC LIMIT :limit`

export function createDrawStore(connection: SqliteConnection): DrawStore {
  return { ...changingDraws(connection), ...readingDraws(connection) }
}

function changingDraws(connection: SqliteConnection): Pick<DrawStore, 'draw' | 'giveBack'> {
  const present = connection.prepareWrite(READ)
  const presentGrant = connection.prepareWrite(READ_VALIDITY)
  presentGrant.setReturnArrays(true)
  const insert = connection.prepareWrite(INSERT)
  const count = connection.prepareWrite(COUNT)
  const setReturned = connection.prepareWrite(RETURN)
  const readPresent = (key: DrawKey) => {
    const row = present.get(packedKey(key)) as DrawRow | undefined
    const grant = rowOf(presentGrant, pack(key.grantId))
    return { draw: row ? drawOf(row) : null, grant: grant ? validityOf(grant) : null }
  }
  const storeCounts = (key: DrawKey, drawn: Drawn) => count.run({ grantId: pack(key.grantId), ...drawn })

  return {
    draw: (request) =>
      connection.write((): DrawOutcome => {
        const decision = decideDraw(readPresent(request), request)
        if (decision.change === 'none') return decision.outcome
        insert.run(newRow(decision.draw))
        storeCounts(request, decision.drawn)
        return { kind: 'drawn', draw: decision.draw, isAgain: false }
      }),

    giveBack: (key, given) =>
      connection.write((): ReturnOutcome => {
        const { draw, grant } = readPresent(key)
        const decision = decideReturn(draw, grant?.drawn ?? null, given)
        if (decision.change === 'none') return decision.outcome
        setReturned.run({ ...packedKey(key), returned: decision.draw.returned })
        if (decision.drawn) storeCounts(key, decision.drawn)
        return { kind: 'returned', draw: decision.draw }
      }),
  }
}

function readingDraws(connection: SqliteConnection): Pick<DrawStore, 'readDraw' | 'listDraws'> {
  const read = connection.prepareRead(READ)
  const list = connection.prepareRead(LIST)
  return {
    readDraw: (key) =>
      connection.read(() => {
        const row = read.get(packedKey(key)) as DrawRow | undefined
        return row ? drawOf(row) : null
      }),
    listDraws: (grantId, { before = DRAWS_OF_GRANT_AT_MOST + 1, limit }) =>
      connection.read(() => (list.all({ grantId: pack(grantId), before, limit }) as DrawRow[]).map(drawOf)),
  }
}

const newRow = ({ number, amount, at, left, from, until, ...key }: Draw) => ({
  ...packedKey(key),
  number,
  amount,
  at,
  leftUses: left.uses,
  leftAmount: left.amount,
  from,
  until,
})
