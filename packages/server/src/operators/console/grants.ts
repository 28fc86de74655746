/** The pages of the grants and of the sessions of all wallets. */

import { isClientId } from '../../domain/model/client-id.ts'
import { type Html, html } from '../../pages/html.ts'
import { shortAddress } from '../../pages/words.ts'
import type { Member } from '../members/member.ts'
import { COUNTED_AT_MOST } from '../operations/clients.ts'
import { endMatchingGrants, type GrantRecord, listGrants, walletOf } from '../operations/grants.ts'
import { nameWarningsOf } from '../operations/service.ts'
import { listSessions, type SessionRecord } from '../operations/sessions.ts'
import { grantsText } from '../operations/totals.ts'
import { formatCount } from '../operations/words.ts'
import { addChange } from './change.ts'
import { countWordsOf, type ListView, listPage, timeSortOf, viewOfList } from './list-view.ts'
import { buttonLink, type Column, link, nameOr, pathTo, table, tag, warningList } from './parts.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, queryOf, readList, type Visit } from './visit.ts'

/** The fields of the form. The members of the operations have no labels, because no other form has them. */
const FIELDS: Readonly<Record<string, Partial<Member>>> = {
  wallet: { label: 'Wallet', hint: '0x…', longest: 100 },
  client_id: { label: 'Client', hint: 'client id' },
  active: { label: 'State', choices: { true: 'active' } },
}

function fieldsOf(members: readonly Member[]): Member[] {
  return members.map((member) => ({ ...member, ...FIELDS[member.name] }))
}

export function grantPages(console: Console): void {
  addEndingForm(console)
  addPage(console, '/console/grants', async (visit) => {
    const view = viewOfList(visit, { input: fieldsOf(listGrants.input) }, '/console/grants')
    const { items, next, previous } = await readList(console, visit, listGrants, view.given)
    return listPage(view, {
      title: 'Grants',
      actions: endAction(visit, view),
      lead: 'What wallets allowed to apps.',
      count: await countWords(console, view),
      table: await grantsTable(console, visit, items, isByClient(view) ? {} : { sort: timeSortOf(view) }),
      next,
      previous,
    })
  })
  addPage(console, '/console/sessions', async (visit) => {
    const view = viewOfList(visit, { input: fieldsOf(listSessions.input) }, '/console/sessions')
    const { items, next, previous, total } = await readList(console, visit, listSessions, view.given)
    return listPage(view, {
      title: 'Sessions',
      lead: 'The browsers in which wallets are signed in.',
      count: total ? countWordsOf(total, 'session') : '',
      table: sessionsTable(items, visit, view),
      next,
      previous,
    })
  })
}

/** No index counts the ended grants of a wallet or of a client. */
async function countWords(
  { service: { store } }: Console,
  { entered: { wallet, client_id: clientId } }: ListView,
): Promise<string> {
  if (wallet === undefined && clientId === undefined)
    return `${grantsText(await store.grants.countGrants(COUNTED_AT_MOST))} grants, with those that ended in the last day`
  const of = wallet === undefined ? { clientId: clientId ?? '' } : { wallet: walletOf(wallet) }
  const count = await store.grants.countUnendedGrants(of, COUNTED_AT_MOST)
  return `${formatCount(count, 'grant', COUNTED_AT_MOST)} of the ${wallet === undefined ? 'client' : 'wallet'} ${count === 1 ? 'has' : 'have'} not ended`
}

function addEndingForm(console: Console): void {
  const { link: title = '', intro } = endMatchingGrants.page ?? {}
  addChange(console, {
    operation: endMatchingGrants,
    path: '/console/grants/end',
    form: { title, ...(intro && { intro }), prefilled: ['client_id', 'wallet'] },
    hasRecord: false,
    crumbs: () => [['/console/grants', 'Grants']],
    home: () => '/console/grants',
  })
}

function endAction({ may }: Visit, { entered }: ListView): Html | false {
  const { client_id, wallet } = entered
  return may('admin.grants') && buttonLink(`/console/grants/end${queryOf({ client_id, wallet })}`, 'End several grants', 'danger')
}

type ListedGrant = GrantRecord & NamedClient

export type NamedClient = { clientName: string; warnings: readonly string[] }

/** The name of a client. The warnings about the name of a registered client are on the page of the client; another client has no such page. */
export async function namedClient(service: Console['service'], id: string): Promise<NamedClient> {
  const clientName = await service.nameOfClient(id)
  if (clientName === '' || isClientId(id)) return { clientName, warnings: [] }
  const [warnings = []] = await nameWarningsOf(service, [{ id, name: clientName }])
  return { clientName, warnings }
}

/** The active grants of a wallet have one order. */
const isByClient = ({ entered: { wallet, active } }: ListView): boolean => wallet !== undefined && active === 'true'

/** `at`: the grants are those of one client, which is not named again. */
export async function grantsTable(
  { service }: Console,
  { now }: Visit,
  grants: GrantRecord[],
  { sort, at }: { sort?: Column<never>['sort']; at?: 'client' } = {},
): Promise<Html> {
  const rows = await Promise.all(grants.map(async (grant) => ({ ...grant, ...(await namedClient(service, grant.client_id)) })))
  const grantLink = ({ grant_id: id, clientName, client_id: to, wallet, warnings }: ListedGrant): Html =>
    at === 'client'
      ? link(pathTo('grants', id), walletWords(wallet))
      : html`${link(pathTo('grants', id), nameOr(clientName, to))}${warningList(warnings)}`
  const columns: (Column<ListedGrant> | false)[] = [
    { name: at === 'client' ? 'Wallet' : 'App', cell: grantLink, kind: 'main' },
    at === undefined && { name: 'Wallet', cell: ({ wallet }) => walletLink(wallet) },
    { name: 'Scopes', cell: ({ scopes }) => html`<code>${scopes.join(' ')}</code>` },
    { name: 'Since', cell: ({ created_at: since }) => fromNow(since, now), sort },
    { name: 'State', cell: grantState },
  ]
  return table('Grants', columns, rows, at === 'client' ? 'No wallet has allowed anything to this client.' : 'No grant matches.')
}

export function grantState({ state, end_reason: endReason }: GrantRecord): Html {
  if (state === 'active') return tag('active', 'good')
  return html`${tag(state, state === 'ended' ? 'plain' : 'warn')}${endReason !== null && html` <code>${endReason}</code>`}`
}

/** Without a list: the sessions of one wallet. */
export function sessionsTable(sessions: SessionRecord[], { may, now }: Visit, list?: ListView): Html {
  const endLink = ({ session_id: id, wallet }: SessionRecord): Html =>
    buttonLink(`${pathTo('sessions', id, 'end')}${queryOf({ wallet })}`, 'End', 'danger')
  const signedIn: Column<SessionRecord> = { name: 'Signed in', cell: ({ signed_in_at: at }) => fromNow(at, now) }
  return table(
    'Sessions',
    [
      list !== undefined && { name: 'Wallet', cell: ({ wallet }) => walletLink(wallet), kind: 'main' },
      list ? signedIn : { ...signedIn, kind: 'main' },
      { name: 'Proof', cell: ({ method }) => (method === 'signature' ? 'signature' : 'the login server vouched') },
      { name: 'Last seen', cell: ({ last_seen_at: at }) => fromNow(at, now) },
      {
        name: 'Ends',
        cell: ({ expires_at: at }) => fromNow(at, now),
        // The sessions of one wallet have one order.
        sort: list && list.entered.wallet === undefined ? timeSortOf(list) : undefined,
      },
      may('admin.grants') && { name: 'End', cell: endLink },
    ],
    sessions,
    list ? 'No wallet is signed in.' : 'This wallet is signed in nowhere.',
  )
}

function walletLink(wallet: string): Html {
  return link(`/console/wallet${queryOf({ wallet })}`, walletWords(wallet))
}

function walletWords(wallet: string): Html {
  return html`<code class="short">${shortAddress(wallet)}</code>`
}
