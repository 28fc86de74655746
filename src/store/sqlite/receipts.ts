/** Receipts on SQLite, by wallet: what somebody signed is one subtree, and never read for anybody else. */
import type { Receipt } from '../../grants/model.ts'
import type { ReceiptBook } from '../../grants/ports.ts'
import type { Connection } from './connection.ts'

type ReceiptRow = {
  wallet: string
  id: string
  wallet_kind: string
  chain_id: number
  client_id: string
  redirect_uri: string
  /** JSON arrays */
  scopes: string
  resources: string
  issued_at: number
  expires_at: number
  withdrawn_at: number | null
  checked_at: number
  sealed: string
}

const COLUMNS =
  'wallet, id, wallet_kind, chain_id, client_id, redirect_uri, scopes, resources, issued_at, expires_at, withdrawn_at, checked_at, sealed' as const

const INSERT = `
  INSERT INTO receipts (wallet, id, wallet_kind, chain_id, client_id, redirect_uri, scopes, resources,
                        issued_at, expires_at, withdrawn_at, checked_at, sealed)
  VALUES (:wallet, :id, :walletKind, :chainId, :clientId, :redirectUri, :scopes, :resources,
          :issuedAt, :expiresAt, :withdrawnAt, :checkedAt, :sealed)
  ON CONFLICT DO NOTHING`

const LIST = `
  SELECT ${COLUMNS} FROM receipts WHERE wallet = :wallet AND (:clientId IS NULL OR client_id = :clientId)
    AND (:standing = 0 OR withdrawn_at IS NULL)
  ORDER BY issued_at DESC, id LIMIT :limit`

const WITHDRAW = `
  UPDATE receipts SET withdrawn_at = :at
  WHERE wallet = :wallet AND withdrawn_at IS NULL AND (:clientId IS NULL OR client_id = :clientId)
    AND (:except IS NULL OR id <> :except)
    AND (:naming IS NULL OR EXISTS (SELECT 1 FROM json_each(receipts.scopes) AS held
                                    WHERE held.value IN (SELECT value FROM json_each(:naming))))`

export function createReceiptBook(connection: Connection): ReceiptBook {
  const insert = connection.prepareWrite(INSERT)
  const again = connection.prepareWrite(
    'SELECT 1 FROM receipts WHERE wallet = ? AND id = ? AND sealed = ? AND withdrawn_at IS NULL',
  )
  const withdraw = connection.prepareWrite(WITHDRAW)
  const withdrawOne = connection.prepareWrite(
    'UPDATE receipts SET withdrawn_at = :at WHERE wallet = :wallet AND id = :id AND withdrawn_at IS NULL',
  )
  const note = connection.prepareWrite(
    'UPDATE receipts SET checked_at = max(checked_at, :at) WHERE wallet = :wallet AND id = :id',
  )
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM receipts WHERE wallet = ? AND id = ?`)
  const list = connection.prepareRead(LIST)
  return {
    insertReceipt: (receipt) =>
      connection.write(() => {
        const lists = { scopes: JSON.stringify(receipt.scopes), resources: JSON.stringify(receipt.resources) }
        if (insert.run({ ...receipt, ...lists }).changes > 0) return 'inserted'
        // The same one again, as after a lost answer: no two requests seal alike.
        return again.get(receipt.wallet, receipt.id, receipt.sealed) ? 'inserted' : 'taken'
      }),
    readReceipt: (wallet, id) =>
      connection.read(() => {
        const row = read.get(wallet, id)
        return row ? receiptOf(row as ReceiptRow) : null
      }),
    listReceipts: (wallet, { clientId = null, standing = false, limit }) =>
      connection.read(() =>
        list.all({ wallet, clientId, standing: standing ? 1 : 0, limit }).map((row) => receiptOf(row as ReceiptRow)),
      ),
    withdrawReceipts: ({ wallet, clientId = null, naming, except = null }, at) =>
      connection.write(() => void withdraw.run({ wallet, clientId, except, naming: naming ? JSON.stringify(naming) : null, at })),
    withdrawReceipt: (wallet, id, at) => connection.write(() => void withdrawOne.run({ wallet, id, at })),
    noteReceiptCheck: (wallet, id, at) => connection.write(() => void note.run({ wallet, id, at })),
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
    scopes: JSON.parse(row.scopes) as string[],
    resources: JSON.parse(row.resources) as string[],
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    withdrawnAt: row.withdrawn_at,
    checkedAt: row.checked_at,
    sealed: row.sealed,
  }
}
