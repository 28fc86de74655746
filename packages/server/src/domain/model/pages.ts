/** Long lists are read and changed page by page, so that no request waits until another wallet's long list is done. */
import type { Address } from '../../protocol/wallet/address.ts'
import type { Grant, Receipt, Session } from './records.ts'

// In each of these types, `after` is the last row of the previous page.

export type Order = 'newest' | 'oldest'

/** A page of all grants, of the grants of a wallet, or of those of a client; of a client also only those that have not ended. */
export type GrantFilter = { limit: number; after?: Pick<Grant, 'id' | 'createdAt'> | undefined; order?: Order } & (
  | { wallet?: Address; clientId?: never; unended?: never }
  | { wallet?: never; clientId: string; unended?: boolean }
)

/** Whose grants: those of a wallet, or those of a client. */
export type GrantOwner = { wallet: Address } | { clientId: string }

export type UnendedPage = {
  wallet: Address
  clientId?: string | undefined
  limit: number
  after?: Pick<Grant, 'clientId' | 'createdAt' | 'id'> | undefined
}

/** The default of `state` is `standing`: receipts that were not withdrawn. */
export type ReceiptPage = {
  clientId?: string | undefined
  state?: 'standing' | 'withdrawn'
  limit: number
  after?: Pick<Receipt, 'clientId' | 'issuedAt' | 'id'> | undefined
}

export type SessionPage = { at: number; limit: number; after?: Pick<Session, 'authTime' | 'hash'> | undefined }

/** Of all wallets. Sessions of one lifetime that began later end later, so the order is that of their ends. */
export type AllSessionsPage = { at: number; limit: number; order: Order; after?: Pick<Session, 'expiresAt' | 'hash'> | undefined }

/** Rows that are read and changed in one step. SQLite ends this many grants in 2 ms, and runs no other statement meanwhile. */
export const PAGE = 50

/** Reads a whole list, page by page. */
export async function* pagesOf<Row>(
  read: (page: { limit: number; after: Row | undefined }) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after: Row | undefined; ; ) {
    const page = await read({ limit: PAGE, after })
    if (page.length > 0) yield page
    if (page.length < PAGE) return
    after = page.at(-1)
  }
}

/** The sum of the numbers of rows of all pages. */
export async function sumOf(pages: AsyncIterable<number>): Promise<number> {
  let sum = 0
  for await (const rows of pages) sum += rows
  return sum
}

/** The rows that `isWanted` selects. Pages without such a row are skipped. */
export async function* selected<Row>(pages: AsyncGenerator<Row[]>, isWanted: (row: Row) => boolean): AsyncGenerator<Row[]> {
  for await (const page of pages) {
    const rows = page.filter(isWanted)
    if (rows.length > 0) yield rows
  }
}
