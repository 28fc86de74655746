/** Receipts on SQLite. Every index begins with the wallet, so no statement reads the receipts of another wallet. */

import type { ReceiptPage } from '../../domain/model/pages.ts'
import type { Receipt } from '../../domain/model/records.ts'
import type { ReceiptStore } from '../../domain/model/request-store.ts'
import { runPaced } from '../paced.ts'
import type { SqliteConnection } from './connection.ts'

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

/** Before the first row of a list. */
const FIRST = { clientId: '\u{10FFFF}', issuedAt: Number.MAX_SAFE_INTEGER, id: '' }

/**
 * Includes only the conditions of the page, so that an index finds the first row, and the next rows follow in the
 * index's order.
 */
function listOf({ clientId, state = 'standing' }: Pick<ReceiptPage, 'clientId' | 'state'>): string {
  const place =
    clientId === undefined
      ? '(client_id, issued_at, id) < (:clientId, :issuedAt, :id)'
      : 'client_id = :clientId AND (issued_at, id) < (:issuedAt, :id)'
  return `
    SELECT ${COLUMNS} FROM receipts
    WHERE wallet = :wallet AND (CASE WHEN withdrawn_at IS NULL THEN 0 ELSE 1 END) = ${state === 'standing' ? 0 : 1} AND ${place}
    ORDER BY client_id DESC, issued_at DESC, id DESC LIMIT :limit`
}

export function createReceiptStore(connection: SqliteConnection): ReceiptStore {
  const insert = connection.prepareWrite(INSERT)
  const again = connection.prepareWrite(
    'SELECT 1 FROM receipts WHERE wallet = ? AND id = ? AND sealed = ? AND withdrawn_at IS NULL',
  )
  const epochOf = connection.prepareWrite('SELECT epoch FROM wallets WHERE address = ?')
  const withdraw = connection.prepareWrite(
    'UPDATE receipts SET withdrawn_at = :at WHERE wallet = :wallet AND id = :id AND withdrawn_at IS NULL',
  )
  const remove = connection.prepareWrite('DELETE FROM receipts WHERE wallet = :wallet AND id = :id')
  const note = connection.prepareWrite(
    'UPDATE receipts SET checked_at = max(checked_at, :at) WHERE wallet = :wallet AND id = :id',
  )
  const read = connection.prepareRead(`SELECT ${COLUMNS} FROM receipts WHERE wallet = ? AND id = ?`)
  // Authorization requests use this list, so the statement is prepared once.
  const listStanding = connection.prepareRead(listOf({ clientId: '' }))
  return {
    insertReceipt: (receipt, epoch) =>
      connection.write(() => {
        if (((epochOf.get(receipt.wallet) as { epoch: number } | undefined)?.epoch ?? 0) !== epoch) return 'ended'
        const lists = { scopes: JSON.stringify(receipt.scopes), resources: JSON.stringify(receipt.resources) }
        if (insert.run({ ...receipt, ...lists }).changes > 0) return 'inserted'
        // The same receipt again, after a lost response: two requests never seal to the same text.
        return again.get(receipt.wallet, receipt.id, receipt.sealed) ? 'inserted' : 'taken'
      }),
    readReceipt: (wallet, id) =>
      connection.read(() => {
        const row = read.get(wallet, id)
        return row ? receiptOf(row as ReceiptRow) : null
      }),
    listReceipts: (wallet, { after = FIRST, ...page }) =>
      connection.read(() => {
        const { clientId = after.clientId, limit } = page
        const list =
          page.clientId !== undefined && page.state !== 'withdrawn' ? listStanding : connection.prepareRead(listOf(page))
        const rows = list.all({
          wallet,
          clientId,
          limit,
          issuedAt: after.issuedAt,
          id: after.id,
        })
        return rows.map((row) => receiptOf(row as ReceiptRow))
      }),
    withdrawReceipts: (wallet, ids, at) =>
      runPaced(ids.length, () =>
        connection.write(() => {
          for (const id of ids) withdraw.run({ wallet, id, at })
        }),
      ),
    withdrawReceipt: (wallet, id, at) => connection.write(() => void withdraw.run({ wallet, id, at })),
    deleteReceipts: (wallet, ids) =>
      runPaced(ids.length, () =>
        connection.write(() => {
          for (const id of ids) remove.run({ wallet, id })
        }),
      ),
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
