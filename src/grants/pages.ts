/** Long lists are read and changed page by page, so that no request waits for the long list of another wallet. */
import type { Address } from '../wallet/address.ts'
import type { Grant, Receipt, Session } from './model.ts'

// In each of these pages `after` is the last row of the page before.

/** `order` is `newest` unless given. */
export type GrantFilter = {
  wallet?: Address
  clientId?: string
  living?: boolean
  order?: 'newest' | 'oldest'
  at: number
  limit: number
  after?: Pick<Grant, 'id' | 'createdAt'> | undefined
}

export type UnendedPage = {
  wallet: Address
  clientId?: string | undefined
  limit: number
  after?: Pick<Grant, 'clientId' | 'createdAt' | 'id'> | undefined
}

/** `state` is `standing` unless given. */
export type ReceiptPage = {
  clientId?: string | undefined
  state?: 'standing' | 'withdrawn'
  limit: number
  after?: Pick<Receipt, 'clientId' | 'issuedAt' | 'id'> | undefined
}

export type SessionPage = { at: number; limit: number; after?: Pick<Session, 'authTime' | 'hash'> | undefined }

/** Rows that are read, and changed, in one step. SQLite ends as many grants in 2 ms, and does nothing else meanwhile. */
export const PAGE = 50

/** Reads a list to its end, page by page. */
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

/** The rows of these pages that are wanted; pages without one are left out. */
export async function* selected<Row>(pages: AsyncGenerator<Row[]>, isWanted: (row: Row) => boolean): AsyncGenerator<Row[]> {
  for await (const page of pages) {
    const rows = page.filter(isWanted)
    if (rows.length > 0) yield rows
  }
}
