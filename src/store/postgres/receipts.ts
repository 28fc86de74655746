/** Receipts on PostgreSQL, by wallet: what somebody signed is found under their address, and never read for anybody else. */
import type { Receipt } from '../../grants/model.ts'
import type { ReceiptBook } from '../../grants/ports.ts'
import type { Connection } from './connection/connection.ts'

type ReceiptRow = {
  wallet: string
  id: string
  wallet_kind: string
  chain_id: number
  client_id: string
  redirect_uri: string
  scopes: string[]
  resources: string[]
  issued_at: number
  expires_at: number
  withdrawn_at: number | null
  checked_at: number
  sealed: string
}

const COLUMNS =
  'wallet, id, wallet_kind, chain_id, client_id, redirect_uri, scopes, resources, issued_at, expires_at, withdrawn_at, checked_at, sealed' as const

const INSERT = `
  INSERT INTO receipts (${COLUMNS})
  VALUES (:wallet, :id, :walletKind, :chainId, :clientId, :redirectUri, :scopes, :resources,
          :issuedAt, :expiresAt, :withdrawnAt, :checkedAt, :sealed)
  ON CONFLICT (wallet, id) DO NOTHING
  RETURNING id`

const LIST = `
  SELECT ${COLUMNS} FROM receipts WHERE wallet = :wallet AND (:clientId::text IS NULL OR client_id = :clientId)
    AND (NOT :standing::boolean OR withdrawn_at IS NULL)
  ORDER BY issued_at DESC, id LIMIT :limit`

const WITHDRAW = `
  UPDATE receipts SET withdrawn_at = :at
  WHERE wallet = :wallet AND withdrawn_at IS NULL AND (:clientId::text IS NULL OR client_id = :clientId)
    AND (:except::text IS NULL OR id <> :except)
    AND (:naming::jsonb IS NULL OR EXISTS (SELECT FROM jsonb_array_elements(scopes) AS held (scope)
                                           WHERE :naming::jsonb @> jsonb_build_array(held.scope)))`

export function createReceiptBook(connection: Connection): ReceiptBook {
  const insert = connection.prepare('move', INSERT)
  const withdraw = connection.prepare('move', WITHDRAW)
  const withdrawOne = connection.prepare(
    'move',
    'UPDATE receipts SET withdrawn_at = :at WHERE wallet = :wallet AND id = :id AND withdrawn_at IS NULL',
  )
  const note = connection.prepare(
    'move',
    'UPDATE receipts SET checked_at = greatest(checked_at, :at) WHERE wallet = :wallet AND id = :id',
  )
  const read = connection.prepare<ReceiptRow>('read', `SELECT ${COLUMNS} FROM receipts WHERE wallet = :wallet AND id = :id`)
  const list = connection.prepare<ReceiptRow>('read', LIST)
  return {
    async insertReceipt(receipt) {
      if ((await insert(receipt)).length > 0) return 'inserted'
      // Our own insert, whose answer was lost on the way: no two requests seal alike.
      const [row] = await read({ wallet: receipt.wallet, id: receipt.id })
      return row?.sealed === receipt.sealed && row.withdrawn_at === null ? 'inserted' : 'taken'
    },
    async readReceipt(wallet, id) {
      const [row] = await read({ wallet, id })
      return row ? receiptOf(row) : null
    },
    listReceipts: async (wallet, { clientId = null, standing = false, limit }) =>
      (await list({ wallet, clientId, standing, limit })).map(receiptOf),
    withdrawReceipts: async ({ wallet, clientId = null, naming, except = null }, at) =>
      void (await withdraw({ wallet, clientId, except, naming: naming ?? null, at })),
    withdrawReceipt: async (wallet, id, at) => void (await withdrawOne({ wallet, id, at })),
    noteReceiptCheck: async (wallet, id, at) => void (await note({ wallet, id, at })),
  }
}

function receiptOf(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    wallet: row.wallet as Receipt['wallet'],
    walletKind: row.wallet_kind as Receipt['walletKind'],
    chainId: row.chain_id,
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    scopes: row.scopes,
    resources: row.resources,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    withdrawnAt: row.withdrawn_at,
    checkedAt: row.checked_at,
    sealed: row.sealed,
  }
}
