/** Receipts on PostgreSQL, by wallet. Every statement names the wallet, so no receipt is read for another one. */

import type { ReceiptPage } from '../../domain/model/pages.ts'
import type { Receipt } from '../../domain/model/records.ts'
import type { ReceiptStore } from '../../domain/model/request-store.ts'
import { listText, readList } from '../list-text.ts'
import { runPaced } from '../paced.ts'
import { GREATEST, LEAST, unpack } from '../packed.ts'
import { changeOfRows, prepareForEach } from './change-of-rows.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { createWalletStore } from './wallets.ts'

const RECEIPTS = { table: 'receipts', key: 'wallet' } as const

type ReceiptRow = {
  wallet: Uint8Array
  id: Uint8Array
  is_contract: boolean
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

// The address is selected from the wallet's row, so that Citus runs the whole statement on the machine of that row.
// The share lock on the wallet's row makes an ending wait. The ending raises the epoch after the receipt is committed, and then finds
// the receipt.
const INSERT = `
  INSERT INTO receipts (${COLUMNS})
  SELECT address, :id::packed, :isContract::boolean, :chainId::bigint, :clientId::packed, :redirectUri, :scopes, :resources,
         :issuedAt::bigint, :expiresAt::bigint, :withdrawnAt::bigint, :checkedAt::bigint, :sealed::bytea
  FROM wallets WHERE address = :wallet::packed AND epoch = :epoch::integer FOR SHARE
  ON CONFLICT (wallet, id) DO NOTHING
  RETURNING id`

const WITHDRAW = changeOfRows({
  table: 'receipts',
  key: ['wallet', 'id'],
  set: 'withdrawn_at = :at',
  condition: 'receipts.withdrawn_at IS NULL',
})

/** A cursor before the first row of a list. */
const FIRST = { clientId: GREATEST, issuedAt: Number.MAX_SAFE_INTEGER, id: LEAST }

/** The conditions of the page and no others, so that PostgreSQL reads it in the order of an index. */
function pageOf({ clientId, state = 'standing' }: Pick<ReceiptPage, 'clientId' | 'state'>): string {
  const place =
    clientId === undefined
      ? '(client_id, issued_at, id) < (:clientId::packed, :issuedAt::bigint, :id::packed)'
      : 'client_id = :clientId::packed AND (issued_at, id) < (:issuedAt::bigint, :id::packed)'
  return `
    SELECT ${COLUMNS} FROM receipts
    WHERE wallet = :wallet::packed AND (CASE WHEN withdrawn_at IS NULL THEN 0 ELSE 1 END) = ${state === 'standing' ? 0 : 1} AND ${place}
    ORDER BY client_id DESC, issued_at DESC, id DESC LIMIT :limit`
}

// The locks are taken in one order, and a row that another node has locked stays until the next check of the wallet.
const DELETE = `
  DELETE FROM receipts WHERE wallet = :wallet::packed AND id IN (
    SELECT id FROM receipts WHERE wallet = :wallet::packed AND id = ANY (:ids::packed[]) ORDER BY id FOR UPDATE SKIP LOCKED)`

const NOTE_CHECK =
  'UPDATE receipts SET checked_at = greatest(checked_at, :at) WHERE wallet = :wallet::packed AND id = :id::packed'

export function createReceiptStore(connection: PostgresConnection): ReceiptStore {
  const insert = connection.prepare('move', INSERT, RECEIPTS)
  const withdraw = prepareForEach(connection, WITHDRAW)
  const remove = connection.prepare('move', DELETE, RECEIPTS)
  const confirm = connection.prepareConfirmation('wallets WHERE address = :wallet::packed', { table: 'wallets', key: 'wallet' })
  const note = connection.prepare('move', NOTE_CHECK, RECEIPTS)
  const addWallet = connection.prepare(
    'move',
    'INSERT INTO wallets (address, epoch, proved_itself) VALUES (:wallet::packed, 0, false) ON CONFLICT (address) DO NOTHING',
    { table: 'wallets', key: 'wallet' },
  )
  const { readEpoch } = createWalletStore(connection)
  const read = connection.prepare<ReceiptRow>(
    'read',
    `SELECT ${COLUMNS} FROM receipts WHERE wallet = :wallet::packed AND id = :id::packed`,
    RECEIPTS,
  )
  async function withdrawAll(wallet: string, ids: readonly string[], at: number): Promise<void> {
    const instance = await connection.readInstance()
    const withdrawn = await withdraw(ids.map((id) => ({ wallet, id, at })))
    if (withdrawn.length < ids.length) await confirm({ wallet }, instance)
  }
  return {
    async insertReceipt(receipt, epoch) {
      const { wallet, id, sealed } = receipt
      if ((await insert({ ...valuesOf(receipt), epoch })).length > 0) return 'inserted'
      // A contract wallet that has never ended anything may have no row yet.
      if (epoch === 0) {
        await addWallet({ wallet })
        if ((await insert({ ...valuesOf(receipt), epoch })).length > 0) return 'inserted'
      }
      if ((await readEpoch(wallet)) !== epoch) return 'ended'
      // The receipt may be this call's own, if the response was lost: no two calls have the same sealed bytes.
      const [row] = await read({ wallet, id })
      if (!row || row.withdrawn_at !== null || Buffer.compare(row.sealed, sealed) !== 0) return 'taken'
      await confirm({ wallet })
      return 'inserted'
    },
    async readReceipt(wallet, id) {
      const [row] = await read({ wallet, id })
      return row ? receiptOf(row) : null
    },
    async listReceipts(wallet, { after = FIRST, ...page }) {
      const named = {
        wallet,
        clientId: page.clientId ?? after.clientId,
        limit: page.limit,
        issuedAt: after.issuedAt,
        id: after.id,
      }
      return (await connection.prepare<ReceiptRow>('read', pageOf(page), RECEIPTS)(named)).map(receiptOf)
    },
    withdrawReceipts: (wallet, ids, at) => runPaced(ids.length, () => withdrawAll(wallet, ids, at)),
    withdrawReceipt: (wallet, id, at) => withdrawAll(wallet, [id], at),
    deleteReceipts: (wallet, ids) => runPaced(ids.length, async () => void (await remove({ wallet, ids }))),
    noteReceiptCheck: async (wallet, id, at) => void (await note({ wallet, id, at })),
  }
}

function valuesOf(receipt: Receipt) {
  const { walletKind, scopes, resources } = receipt
  return { ...receipt, isContract: walletKind === 'contract', scopes: listText(scopes), resources: listText(resources) }
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
    sealed: new Uint8Array(row.sealed),
  }
}
