import { describeScopes } from '../../domain/resources/describe-scopes.ts'
import { counted, exact, pathTo } from '../../pages/console/parts.ts'
import { type GrantView, grantPage, type ReceiptView, type WalletView, walletPage } from '../../pages/console/wallet-pages.ts'
import { shortAddress } from '../../pages/words.ts'
import { parseAddress } from '../../wallet/address.ts'
import { Problem } from '../problem.ts'
import type { grantRecord, sessionRecord } from '../records.ts'
import { COUNTED_AT_MOST } from '../routes/clients.ts'
import { queryOf } from './call-api.ts'
import { addChange, addPage, type Console, type Visit } from './console.ts'
import { nameOfClient, namesOfClients } from './names.ts'

type GrantRecord = ReturnType<typeof grantRecord>
type SessionRecord = ReturnType<typeof sessionRecord>
type Page<Item> = { items: Item[]; next: string | null }
type ReceiptRecord = { issued_at: number; expires_at: number; withdrawn_at: number | null; message: string; signature: string }

const ROWS = 20

const DONE: Readonly<Record<string, string>> = {
  grant: 'The grant has ended.',
  session: 'That browser is signed out.',
}

export function walletPages(console: Console): void {
  const { deps } = console.admin

  addPage(console, '/console/wallet', async (visit) => {
    const { query, frame } = visit
    const entered = query.text('wallet')
    const address = parseAddress(entered)
    const view: WalletView = {
      frame,
      entered,
      mayEnd: visit.may('admin.grants'),
      done: doneOf(query.text('done')),
      now: deps.now(),
    }
    if (entered === '') return walletPage(view)
    if (address.kind !== 'address')
      return walletPage({
        ...view,
        fault: 'This is not an address of 0x and 40 hexadecimal digits with the right checksum (EIP-55).',
      })
    return walletPage({ ...view, found: await findWallet(console, visit, address.address) })
  })

  addPage(console, '/console/grants/:id', async (visit) => {
    const grant = await readGrant(visit)
    return grantPage({
      frame: visit.frame,
      grant: viewOf(console, grant, await nameOfClient(console.admin, grant.client_id)),
      receipt: await readReceipt(visit),
      mayEnd: visit.may('admin.grants'),
      done: doneOf(visit.query.text('done')),
    })
  })
  addGrantEnding(console)
  addWalletEnding(console)
  addSessionEnding(console)
}

/** `done` is the number of grants that ended, or a key of `DONE`. */
function doneOf(done: string): string | undefined {
  return /^\d{1,9}$/.test(done) ? `${counted(Number(done), 'grant')} ended.` : DONE[done]
}

async function findWallet(
  console: Console,
  { api, query }: Visit,
  wallet: `0x${string}`,
): Promise<NonNullable<WalletView['found']>> {
  const { admin } = console
  const [grants, sessions, count] = await Promise.all([
    api<Page<GrantRecord>>('GET', `/v1/grants${queryOf({ wallet, limit: ROWS, after: query.text('grants') })}`),
    api<Page<SessionRecord>>('GET', `/v1/sessions${queryOf({ wallet, limit: ROWS, after: query.text('sessions') })}`),
    admin.store.grants.countUnendedGrants({ wallet }, COUNTED_AT_MOST),
  ])
  const names = await namesOfClients(
    admin,
    grants.body.items.map(({ client_id: id }) => id),
  )
  const more = (list: string, next: string | null): string | null =>
    next === null ? null : `/console/wallet${queryOf({ wallet, [list]: next })}`
  return {
    wallet,
    grants: grants.body.items.map((grant) => viewOf(console, grant, names.get(grant.client_id) ?? '')),
    moreGrants: more('grants', grants.body.next),
    unended: { count, atMost: COUNTED_AT_MOST },
    sessions: sessions.body.items.map((session) => ({
      id: session.session_id,
      method: session.method,
      signedInAt: session.signed_in_at,
      lastSeenAt: session.last_seen_at,
      expiresAt: session.expires_at,
    })),
    moreSessions: more('sessions', sessions.body.next),
  }
}

async function readGrant({ api, params }: Visit): Promise<GrantRecord> {
  return (await api<GrantRecord>('GET', `/v1/grants/${encodeURIComponent(params.id ?? '')}`)).body
}

async function readReceipt({ api, params }: Visit): Promise<ReceiptView | null> {
  try {
    const { body } = await api<ReceiptRecord>('GET', `/v1/grants/${encodeURIComponent(params.id ?? '')}/receipt`)
    const { issued_at: issuedAt, expires_at: expiresAt, withdrawn_at: withdrawnAt, message, signature } = body
    return { issuedAt, expiresAt, withdrawnAt, message, signature }
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return null
    throw error
  }
}

function viewOf({ admin }: Console, grant: GrantRecord, clientName: string): GrantView {
  const { scopes, resources, scopes_by_resource: scopesByResource } = grant
  return {
    id: grant.grant_id,
    clientId: grant.client_id,
    clientName,
    wallet: grant.wallet,
    scopes: describeScopes(admin.deps, { scopes, resources, scopesByResource }),
    resources,
    state: grant.state,
    createdAt: grant.created_at,
    refreshedAt: grant.refreshed_at,
    expiresAt: grant.expires_at,
    endedAt: grant.ended_at,
    endReason: grant.end_reason,
  }
}

function addGrantEnding(console: Console): void {
  addChange(console, {
    path: '/console/grants/:id/end',
    scope: 'admin.grants',
    async question(visit) {
      const grant = await readGrant(visit)
      const app = (await nameOfClient(console.admin, grant.client_id)) || grant.client_id
      return {
        title: 'End this grant?',
        effect: `It ends 1 grant: ${app} loses the access that ${shortAddress(grant.wallet)} gave it.`,
        notes: ['The wallet can sign in to the app again.'],
        button: 'End the grant',
        tone: 'danger',
        back: pathTo('grants', grant.grant_id),
      }
    },
    async carryOut(visit) {
      const path = pathTo('grants', visit.params.id ?? '')
      await visit.api('DELETE', `/v1/grants/${encodeURIComponent(visit.params.id ?? '')}`)
      return { path: `${path}?done=grant` }
    },
  })
}

/** Ends all grants of a wallet, or its grants at the client that the query names. */
function addWalletEnding(console: Console): void {
  const { admin } = console
  addChange(console, {
    path: '/console/wallet/:id/end',
    scope: 'admin.grants',
    async question({ params, api }, entered) {
      const wallet = params.id ?? ''
      const clientId = entered.text('client_id')
      const active = `/v1/grants${queryOf({ wallet, client_id: clientId, active: true, limit: 100 })}`
      const { items, next } = (await api<Page<GrantRecord>>('GET', active)).body
      const address = parseAddress(wallet)
      const all = clientId === '' && address.kind === 'address'
      const count = all ? await admin.store.grants.countUnendedGrants({ wallet: address.address }, COUNTED_AT_MOST) : items.length
      const atMost = all ? COUNTED_AT_MOST : next === null ? Number.POSITIVE_INFINITY : items.length
      const app = clientId === '' ? 'all apps' : (await nameOfClient(admin, clientId)) || clientId
      return {
        title: `End all grants of ${shortAddress(wallet)}?`,
        effect: `It ends ${counted(count, 'grant', atMost)} at ${app}, and withdraws what the wallet signed for ${clientId === '' ? 'them' : 'it'}.`,
        notes: ['Codes and logins in progress become void. Sessions stay.'],
        facts: [['Wallet', exact(wallet)]],
        button: 'End the grants',
        tone: 'danger',
        back: `/console/wallet${queryOf({ wallet })}`,
      }
    },
    async carryOut({ params, api }, confirmed) {
      const wallet = params.id ?? ''
      const clientId = confirmed.text('client_id')
      const body = { wallet, ...(clientId !== '' && { client_id: clientId }) }
      const { grants_ended: ended } = (await api<{ grants_ended: number }>('POST', '/v1/grants/end', { body })).body
      return { path: `/console/wallet${queryOf({ wallet, done: ended })}` }
    },
  })
}

function addSessionEnding(console: Console): void {
  const { store } = console.admin
  addChange(console, {
    path: '/console/sessions/:id/end',
    scope: 'admin.grants',
    async question({ params }) {
      const session = await store.sessions.readSession(params.id ?? '')
      if (!session) throw new Problem('not_found', 'There is no such session.')
      return {
        title: 'End this session?',
        effect: `It signs 1 browser of ${shortAddress(session.wallet)} out. It ends 0 grants.`,
        notes: ['Apps that want it are notified.'],
        button: 'End the session',
        tone: 'danger',
        back: `/console/wallet${queryOf({ wallet: session.wallet })}`,
      }
    },
    async carryOut({ params, api }) {
      const session = await store.sessions.readSession(params.id ?? '')
      await api('DELETE', `/v1/sessions/${encodeURIComponent(params.id ?? '')}`)
      return { path: `/console/wallet${queryOf({ wallet: session?.wallet ?? '', done: 'session' })}` }
    },
  })
}
