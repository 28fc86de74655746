/** The row of a draw, the same in both engines. */
import type { Draw, DrawKey } from '../domain/model/draw-store.ts'
import { pack, unpack } from './packed.ts'

/** The types that are `Uint8Array` are packed. */
export type DrawRow = DrawValues & { grant_id: Uint8Array; client_id: Uint8Array; key: Uint8Array }

/** A draw without its key. */
export type DrawValues = {
  number: number
  amount: number | null
  at: number
  left_uses: number
  left_amount: number | null
  period_from: number
  period_end: number | null
  returned: number | null
}

/** The columns have the name of their table, because a statement can also read the grant. */
export const DRAW_VALUES = ['number', 'amount', 'at', 'left_uses', 'left_amount', 'period_from', 'period_end', 'returned']
  .map((column) => `draws.${column}`)
  .join(', ')
export const DRAW_COLUMNS = `draws.grant_id, draws.client_id, draws.key, ${DRAW_VALUES}`

export function drawOf(row: DrawRow): Draw {
  return drawWith({ grantId: unpack(row.grant_id), clientId: unpack(row.client_id), key: unpack(row.key) }, row)
}

export function drawWith({ grantId, clientId, key }: DrawKey, row: DrawValues): Draw {
  return {
    grantId,
    clientId,
    key,
    number: row.number,
    amount: row.amount,
    at: row.at,
    left: { uses: row.left_uses, amount: row.left_amount },
    from: row.period_from,
    until: row.period_end,
    returned: row.returned,
  }
}

/** The key as it is stored. */
export const packedKey = ({ grantId, clientId, key }: DrawKey) => ({
  grantId: pack(grantId),
  clientId: pack(clientId),
  key: pack(key),
})
