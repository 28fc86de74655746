/** The pages of a wallet and of a grant: what a wallet allowed, and where it is signed in. */
import { describeScopes } from '../domain/resources/describe-scopes.ts'
import { COUNTED_AT_MOST } from '../operations/clients.ts'
import {
  endGrant,
  endGrantsOfWallet,
  type GrantRecord,
  getGrant,
  getReceiptOfGrant,
  listGrants,
  type ReceiptRecord,
} from '../operations/grants.ts'
import { Refusal } from '../operations/refusal.ts'
import { endSession, listSessions } from '../operations/sessions.ts'
import { counted } from '../operations/words.ts'
import { pathTo } from '../pages/console/parts.ts'
import { type GrantView, grantPage, type WalletView, walletPage } from '../pages/console/wallet-pages.ts'
import { parseAddress } from '../wallet/address.ts'
import { addChange } from './change.ts'
import type { Fields } from './form.ts'
import { addPage, type Console, queryOf, readList, type Visit } from './visit.ts'

const ROWS = 20

export function walletPages(console: Console): void {
  addPage(console, '/console/wallet', async (visit) => {
    const { query, frame, now } = visit
    const entered = query.text('wallet')
    const address = parseAddress(entered)
    const view: WalletView = { frame, entered, mayEnd: visit.may('admin.grants'), done: doneOf(query), now }
    if (entered === '') return walletPage(view)
    if (address.kind !== 'address')
      return walletPage({
        ...view,
        fault: 'This is not an address of 0x and 40 hexadecimal digits with the right checksum (EIP-55).',
      })
    return walletPage({ ...view, found: await findWallet(console, visit, address.address) })
  })

  addPage(console, '/console/grants/:id', async (visit) => {
    const { output: grant } = await visit.run(getGrant, { id: visit.params.id ?? '' })
    return grantPage({
      frame: visit.frame,
      grant: await viewOf(console, grant),
      receipt: await readReceipt(visit),
      mayEnd: visit.may('admin.grants'),
      done: doneOf(visit.query),
    })
  })
  addEndings(console)
}

function doneOf(query: Fields): string | undefined {
  const ended = query.text('ended')
  if (/^\d{1,9}$/.test(ended)) return `${counted(Number(ended), 'grant')} ended.`
  return [endGrant, endSession].find(({ id }) => id === query.text('done'))?.page?.done
}

async function findWallet(console: Console, visit: Visit, wallet: `0x${string}`): Promise<NonNullable<WalletView['found']>> {
  const { query } = visit
  const given = (after: string) => ({ input: { wallet }, limit: ROWS, after: query.text(after) })
  const [grants, sessions, count] = await Promise.all([
    readList(console, visit, listGrants, given('grants')),
    readList(console, visit, listSessions, given('sessions')),
    console.admin.store.grants.countUnendedGrants({ wallet }, COUNTED_AT_MOST),
  ])
  const more = (list: string, next: string | null): string | null =>
    next === null ? null : `/console/wallet${queryOf({ wallet, [list]: next })}`
  return {
    wallet,
    grants: await Promise.all(grants.items.map((grant) => viewOf(console, grant))),
    moreGrants: more('grants', grants.next),
    unended: { count, atMost: COUNTED_AT_MOST },
    sessions: sessions.items,
    moreSessions: more('sessions', sessions.next),
  }
}

async function readReceipt({ run, params }: Visit): Promise<ReceiptRecord | null> {
  try {
    return (await run(getReceiptOfGrant, { id: params.id ?? '' })).output
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return null
    throw error
  }
}

async function viewOf({ admin, service }: Console, grant: GrantRecord): Promise<GrantView> {
  const { scopes, resources, scopes_by_resource: scopesByResource } = grant
  return {
    ...grant,
    clientName: await service.nameOfClient(grant.client_id),
    scopeWords: describeScopes(admin.deps, { scopes, resources, scopesByResource }),
  }
}

function addEndings(console: Console): void {
  const withoutForm = { form: null, hasRecord: false } as const
  addChange(console, {
    ...withoutForm,
    operation: endGrant,
    path: '/console/grants/:id/end',
    home: ({ params }) => pathTo('grants', params.id ?? ''),
  })
  addChange(console, {
    ...withoutForm,
    operation: endGrantsOfWallet,
    path: '/console/wallet/:id/end',
    given: ({ params }) => ({ input: { wallet: params.id ?? '' } }),
    home: ({ params }, result) =>
      `/console/wallet${queryOf({ wallet: params.id, ended: (result?.output as { grants_ended: number } | undefined)?.grants_ended })}`,
  })
  addChange(console, {
    ...withoutForm,
    operation: endSession,
    path: '/console/sessions/:id/end',
    home: ({ query }, result) =>
      `/console/wallet${queryOf({ wallet: (result?.output as { wallet: string } | undefined)?.wallet ?? query.text('wallet') })}`,
  })
}
