/** Receipts on SQLite. Every index begins with the wallet, so no statement reads the receipts of another wallet. */

import type { ReceiptPage } from '../../domain/model/pages.ts'
import type { Receipt } from '../../domain/model/records.ts'
import type { ReceiptStore } from '../../domain/model/request-store.ts'
import { listText, readList } from '../list-text.ts'
import { runPaced } from '../paced.ts'
import { GREATEST, LEAST, pack, unpack } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'

type ReceiptRow = {
  wallet: Uint8Array
  id: Uint8Array
  is_contract: number
  chain_id: number
  client_id: Uint8Array
  redirect_uri: string
  scopes: string
  resources: string
  issued_at: number
  expires_at: number
  withdrawn_at: number | null
  checked_at: number
  sealed: Uint8Array
}

const COLUMNS =
  'wallet, id, is_contract, chain_id, client_id, redirect_uri, scopes, resources, issued_at, expires_at, withdrawn_at, checked_at, sealed' as const

const INSERT = `
  INSERT INTO receipts (wallet, id, is_contract, chain_id, client_id, redirect_uri, scopes, resources,
                        issued_at, expires_at, withdrawn_at, checked_at, sealed)
  VALUES (:wallet, :id, :isContract, :chainId, :clientId, :redirectUri, :scopes, :resources,
          :issuedAt, :expiresAt, :withdrawnAt, :checkedAt, :sealed)
  ON CONFLICT DO NOTHING`

/** Before the first row of a list. */
const FIRST = { clientId: GREATEST, issuedAt: Number.MAX_SAFE_INTEGER, id: LEAST }

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
        const row = newRow(receipt)
        if (((epochOf.get(row.wallet) as { epoch: number } | undefined)?.epoch ?? 0) !== epoch) return 'ended'
        if (insert.run(row).changes > 0) return 'inserted'
        // The same receipt again, after a lost response: two requests never seal to the same bytes.
        return again.get(row.wallet, row.id, row.sealed) ? 'inserted' : 'taken'
      }),
    readReceipt: (wallet, id) =>
      connection.read(() => {
        const row = read.get(pack(wallet), pack(id))
        return row ? receiptOf(row as ReceiptRow) : null
      }),
    listReceipts: (wallet, { after, ...page }) =>
      connection.read(() => {
        const place = after ? { clientId: pack(after.clientId), issuedAt: after.issuedAt, id: pack(after.id) } : FIRST
        const list =
          page.clientId !== undefined && page.state !== 'withdrawn' ? listStanding : connection.prepareRead(listOf(page))
        const { limit, clientId } = page
        const ofClient = clientId === undefined ? {} : { clientId: pack(clientId) }
        const rows = list.all({ wallet: pack(wallet), limit, ...place, ...ofClient })
        return rows.map((row) => receiptOf(row as ReceiptRow))
      }),
    withdrawReceipts: (wallet, ids, at) =>
      runPaced(ids.length, () =>
        connection.write(() => {
          for (const id of ids) withdraw.run({ wallet: pack(wallet), id: pack(id), at })
        }),
      ),
    withdrawReceipt: (wallet, id, at) => connection.write(() => void withdraw.run({ wallet: pack(wallet), id: pack(id), at })),
    deleteReceipts: (wallet, ids) =>
      runPaced(ids.length, () =>
        connection.write(() => {
          for (const id of ids) remove.run({ wallet: pack(wallet), id: pack(id) })
        }),
      ),
    noteReceiptCheck: (wallet, id, at) => connection.write(() => void note.run({ wallet: pack(wallet), id: pack(id), at })),
  }
}

function newRow({ walletKind, ...receipt }: Receipt) {
  return {
    ...receipt,
    wallet: pack(receipt.wallet),
    id: pack(receipt.id),
    isContract: walletKind === 'contract' ? 1 : 0,
    clientId: pack(receipt.clientId),
    scopes: listText(receipt.scopes),
    resources: listText(receipt.resources),
  }
}

function receiptOf(row: ReceiptRow): Receipt {
  return {
    id: unpack(row.id),
    wallet: unpack(row.wallet) as Receipt['wallet'],
    walletKind: row.is_contract ? 'contract' : 'ordinary',
    chainId: row.chain_id,
    clientId: unpack(row.client_id),
    redirectUri: row.redirect_uri,
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    withdrawnAt: row.withdrawn_at,
    checkedAt: row.checked_at,
    sealed: row.sealed,
  }
}
