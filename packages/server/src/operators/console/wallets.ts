/** The pages of a wallet and of a grant: what a wallet allowed, and where it is signed in. */
import { describeScopes } from '../../domain/resources/describe-scopes.ts'
import { type Html, html } from '../../pages/html.ts'
import { ENGLISH } from '../../pages/languages.ts'
import { type Scope, scopeWords } from '../../pages/parts.ts'
import { shortAddress } from '../../pages/words.ts'
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import { COUNTED_AT_MOST } from '../operations/clients.ts'
import { type DrawRecord, draws, listDraws } from '../operations/draws.ts'
import {
  endGrant,
  endGrantsOfWallet,
  type GrantRecord,
  getGrant,
  getReceiptOfGrant,
  listGrants,
  type ReceiptRecord,
} from '../operations/grants.ts'
import { countWords, type LimitRecord, leftWords, signedWords } from '../operations/limit-fields.ts'
import { Refusal } from '../operations/refusal.ts'
import { endSession, listSessions } from '../operations/sessions.ts'
import { type FoundWallet, findWallets, getWallet, type WalletDetails } from '../operations/wallets.ts'
import { formatCount, number } from '../operations/words.ts'
import { addChange } from './change.ts'
import { grantState, type NamedClient, namedClient, sessionsTable } from './grants.ts'
import type { ConsolePage, Crumb } from './layout.ts'
import {
  buttonLink,
  type Column,
  dangerSection,
  doneMessage,
  exact,
  facts,
  link,
  moment,
  nameOr,
  nextLink,
  pathTo,
  section,
  shownFact,
  table,
  titleRow,
  warningList,
  withCopyButton,
} from './parts.ts'
import { fromNow } from './times.ts'
import { addPage, type Console, doneOf, queryOf, readList, type Visit } from './visit.ts'

const ROWS = 20
const ENDING_WORDS = 'Each app loses its access, and what the wallet signed is withdrawn. Sessions stay.'

type GrantView = GrantRecord & NamedClient & { scopeWords: Scope[] }

export function walletPages(console: Console): void {
  addPage(console, '/console/wallet', async (visit) => {
    const entered = visit.query.text('wallet').trim()
    const address = parseAddress(entered)
    if (address.kind === 'address') return walletPage(console, visit, address.address)
    const found = entered === '' ? null : await search(console, visit, entered)
    const fault = found?.fault ?? false
    const lead = html`<p class="lead">What a wallet allowed, where it is signed in, and why it was refused lately.</p>`
    return {
      title: 'Wallets',
      content: html`${titleRow('Wallets', html`${buttonLink('/console/grants', 'All grants')} ${buttonLink('/console/sessions', 'All sessions')}`)}
${doneMessage(endedOf(visit))}
<form method="get" action="/console/wallet" class="search" role="search">
<label for="wallet">Address of a wallet, or its beginning${console.admin.findName && ', or an ENS name'}</label>
<input type="text" id="wallet" name="wallet" value="${entered}" class="code" placeholder="0x…" autocomplete="off" spellcheck="false" maxlength="100"${fault && html` aria-invalid="true" aria-describedby="wallet-fault"`}>
<button class="button quiet small">Find</button>
${fault && html`<p class="field-problem" id="wallet-fault" role="alert">${fault}</p>`}
</form>
${found?.list ?? (!fault && lead)}`,
    }
  })

  addPage(console, '/console/grants/:id', async (visit) => {
    const { output } = await visit.run(getGrant, { id: visit.params.id ?? '' })
    const grant = await walletView(console, output)
    return {
      title: 'Grant',
      crumbs: [walletCrumb(grant.wallet)],
      content: html`${titleRow(html`Grant to ${nameOr(grant.clientName, grant.client_id)}`)}
${warningList(grant.warnings)}
${doneMessage(endedOf(visit))}
<div class="columns">
${section('What the wallet allowed', html`${allowedFacts(grant)}`)}
${section('State', stateFacts(grant, visit))}
</div>
${grant.limit && section('Limit', await limitContent(console, visit, grant.limit), 'limit')}
${section('The text that the wallet signed', receiptContent(await receiptDetails(visit)))}
${visit.may('admin.grants') && dangerSection(endingsOf(grant))}`,
    }
  })
  addEndings(console)
}

/** The wallets that begin with the text, or the wallet with this name; or what is wrong with the text. */
async function search(console: Console, visit: Visit, text: string): Promise<{ list?: Html; fault?: string }> {
  if (parseAddress(text).kind === 'wrong_checksum')
    return { fault: 'This address has a wrong checksum (EIP-55), so it contains a typing error.' }
  try {
    const after = visit.query.text('after')
    const { items, next } = await readList(console, visit, findWallets, { input: { search: text }, limit: ROWS, after })
    const more = next === null ? null : `/console/wallet${queryOf({ wallet: text, after: next })}`
    return { list: section('Wallets found', html`${foundTable(items)}${nextLink(more, 'More wallets')}`, 'found') }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'conflict') return { fault: error.message }
    return { fault: 'Enter 0x and at least 4 hexadecimal digits of the address.' }
  }
}

function foundTable(items: FoundWallet[]): Html {
  const cell = ({ wallet }: FoundWallet): Html => link(`/console/wallet${queryOf({ wallet })}`, html`<code>${wallet}</code>`)
  return table(
    'Wallets found',
    [{ name: 'Wallet', cell, kind: 'main' }],
    items,
    'No wallet was found. Only wallets that have signed in are found by the beginning of their address.',
  )
}

/** Why sign-ins of the wallet were refused, at this node. */
function refusalsSection({ refused_sign_ins: refusals, refused_since: since }: WalletDetails, now: number): Html {
  const rows = table(
    'Refused sign-ins',
    [
      { name: 'Reason', cell: ({ reason }) => html`<code>${reason}</code>`, kind: 'main' },
      { name: 'Network', cell: ({ network }) => html`<code>${network}</code>` },
      { name: 'Sign-ins', cell: ({ count }) => number(count), kind: 'number' },
      { name: 'Last', cell: ({ at }) => fromNow(at, now) },
    ],
    refusals,
    'No sign-in of this wallet was refused.',
  )
  return section(
    'Refused sign-ins of the last day',
    html`${rows}<p class="fine">These are the refusals of this process, in memory, since it started ${fromNow(since, now)}. Each node and each worker has its own. Anyone can name any address, so a line need not be from the owner.</p>`,
    'refusals',
  )
}

function walletCrumb(wallet: string): Crumb {
  return [`/console/wallet${queryOf({ wallet })}`, shortAddress(wallet)]
}

function endedOf(visit: Visit): string | undefined {
  const ended = visit.query.text('ended')
  if (/^\d{1,9}$/.test(ended)) return `${formatCount(Number(ended), 'grant')} ended.`
  return doneOf(visit, [endGrant, endSession])
}

async function walletPage(console: Console, visit: Visit, wallet: Address): Promise<ConsolePage> {
  const { query, frame, now } = visit
  const given = (after: string, before = '') => ({
    input: { wallet },
    limit: ROWS,
    after: query.text(after),
    before: query.text(before),
  })
  const [details, grants, sessions, unended] = await Promise.all([
    visit.run(getWallet, { id: wallet }),
    readList(console, visit, listGrants, given('grants', 'newer')),
    readList(console, visit, listSessions, given('sessions')),
    console.admin.store.grants.countUnendedGrants({ wallet }, COUNTED_AT_MOST),
  ])
  const views = await Promise.all(grants.items.map((grant) => walletView(console, grant)))
  const mayEnd = visit.may('admin.grants')
  const more = (list: string, next: string | null): string | null =>
    next === null ? null : `/console/wallet${queryOf({ wallet, [list]: next })}`
  const count = `${formatCount(unended, 'grant', COUNTED_AT_MOST)} of this wallet ${unended === 1 ? 'has' : 'have'} not ended.`
  const ending = {
    path: pathTo('wallet', wallet, 'end'),
    label: 'End all grants of this wallet',
    words: ENDING_WORDS,
  }
  return {
    title: shortAddress(wallet),
    crumbs: [['/console/wallet', 'Wallets']],
    content: html`${titleRow('Wallet', frame.mayReadAudit && buttonLink(`/console/audit?wallet=${wallet}`, 'What happened to this wallet'))}
${doneMessage(endedOf(visit))}
${withCopyButton(html`<code id="address">${wallet}</code>`, 'the address')}
${section(
  'Grants',
  html`${views.length > 0 && html`<p class="fine">${count}</p>`}
${grantsTable(views, mayEnd, now)}
${nextLink(more('newer', grants.previous), 'Newer grants')}
${nextLink(more('grants', grants.next), 'Older grants')}`,
  'grants',
)}
${section(
  'Sessions',
  html`${sessionsTable(sessions.items, visit)}
${nextLink(more('sessions', sessions.next), 'Older sessions')}`,
  'sessions',
)}
${refusalsSection(details.output, now)}
${mayEnd && unended > 0 && dangerSection([ending])}`,
  }
}

function grantsTable(grants: GrantView[], mayEnd: boolean, now: number): Html {
  const endLink = ({ grant_id: id, state }: GrantView): Html | string =>
    state === 'ended' ? '–' : buttonLink(pathTo('grants', id, 'end'), 'End', 'danger')
  return table(
    'Grants',
    [
      {
        name: 'App',
        cell: ({ grant_id: id, clientName, client_id: clientId, warnings }) =>
          html`${link(pathTo('grants', id), nameOr(clientName, clientId))}${warningList(warnings)}`,
        kind: 'main',
      },
      {
        name: 'It may',
        cell: ({ scopeWords: scopes, limit }) =>
          html`${scopesList(scopes)}${limit && html`<p class="fine">Left: ${leftWords(limit)}</p>`}`,
      },
      { name: 'Since', cell: ({ created_at: at }) => fromNow(at, now) },
      { name: 'Last used', cell: ({ refreshed_at: at }) => fromNow(at, now) },
      { name: 'Until', cell: ({ state, expires_at: at }) => (state === 'ended' ? '–' : fromNow(at, now)) },
      { name: 'State', cell: grantState },
      mayEnd && { name: 'End', cell: endLink },
    ],
    grants,
    'This wallet has allowed nothing.',
  )
}

function scopesList(scopes: Scope[]): Html {
  return html`<ul class="plain">${scopes.map((scope) => html`<li>${scopeWords(scope, ENGLISH)}</li>`)}</ul>`
}

function endingsOf({ grant_id: id, wallet, client_id: clientId, state }: GrantView) {
  const ofApp = {
    path: `${pathTo('wallet', wallet, 'end')}${queryOf({ client_id: clientId })}`,
    label: 'End all of this app for the wallet',
    words: 'Ends every grant of the wallet at this app, and withdraws what the wallet signed for it.',
  }
  return [
    ...(state === 'ended' ? [] : [{ path: pathTo('grants', id, 'end'), label: 'End this grant', words: endGrant.summary }]),
    ofApp,
  ]
}

function allowedFacts({ wallet, client_id: clientId, scopeWords: scopes, resources }: GrantView): Html {
  return facts([
    ['Wallet', link(`/console/wallet?wallet=${encodeURIComponent(wallet)}`, html`<code>${wallet}</code>`)],
    ['Client', html`<code>${clientId}</code>`],
    ['It may', scopesList(scopes)],
    ['At', html`<ul class="plain">${resources.map((uri) => html`<li>${exact(uri)}</li>`)}</ul>`],
  ])
}

function stateFacts(grant: GrantView, { frame }: Visit): Html {
  const id = grant.grant_id
  return facts([
    ['State', grantState(grant)],
    ['Since', moment(grant.created_at)],
    ['Refreshed', moment(grant.refreshed_at)],
    ['Expires', moment(grant.expires_at)],
    grant.ended_at !== null && ['Ended', moment(grant.ended_at)],
    ['Grant id', html`<code>${id}</code>`],
    frame.mayReadAudit && ['Audit', link(`/console/audit?grant_id=${encodeURIComponent(id)}`, 'What happened to this grant')],
  ])
}

/** What the wallet signed of a limit, what was used, and a page of the draws. */
async function limitContent(console: Console, visit: Visit, limit: LimitRecord): Promise<Html> {
  const id = visit.params.id ?? ''
  const { signed, used, left, until } = limit
  const after = visit.query.text('draws')
  const { items, next } = await readList(console, visit, listDraws, { input: { grant_id: id }, limit: ROWS, after })
  const columns = draws.displays.map(
    ({ label, shown }): Column<DrawRecord> => ({ name: label, cell: (record) => shownFact(shown(record)) }),
  )
  const older = next === null ? null : `${pathTo('grants', id)}${queryOf({ draws: next })}#limit`
  return html`${facts([
    ['Signed', signedWords(limit)],
    ['Used', countWords(used, signed)],
    ['Left', countWords(left, signed)],
    until !== null && ['Counted anew from', moment(until)],
    ['Draws in all', number(limit.draws)],
  ])}
${table('Draws', columns, items, draws.empty)}
${nextLink(older, 'Older draws')}`
}

function receiptContent(receipt: ReceiptRecord | null): Html {
  if (receipt === null)
    return html`<p class="lead">There is no receipt: the login server vouched for the wallet, a session was sufficient, or the key that sealed the receipt is retired.</p>`
  return html`${facts([
    ['Signed', moment(receipt.issued_at)],
    ['Valid until', moment(receipt.expires_at)],
    receipt.withdrawn_at !== null && ['Withdrawn', moment(receipt.withdrawn_at)],
  ])}
<pre class="paper" id="message" role="group" aria-label="The text that the wallet signed" tabindex="0">
${receipt.message}</pre>
<h3>Signature</h3>
<p class="paper" id="receipt-signature">${receipt.signature}</p>`
}

async function receiptDetails({ run, params }: Visit): Promise<ReceiptRecord | null> {
  try {
    return (await run(getReceiptOfGrant, { id: params.id ?? '' })).output
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return null
    throw error
  }
}

async function walletView({ admin, service }: Console, grant: GrantRecord): Promise<GrantView> {
  const { scopes, resources, scopes_by_resource: scopesByResource } = grant
  return {
    ...grant,
    ...(await namedClient(service, grant.client_id)),
    scopeWords: describeScopes(admin.deps, { scopes, resources, scopesByResource }),
  }
}

function addEndings(console: Console): void {
  const withoutForm = { form: null, hasRecord: false } as const
  addChange(console, {
    ...withoutForm,
    operation: endGrant,
    path: '/console/grants/:id/end',
    crumbs: ({ params }) => [[pathTo('grants', params.id ?? ''), 'Grant']],
    home: ({ params }) => pathTo('grants', params.id ?? ''),
  })
  addChange(console, {
    ...withoutForm,
    operation: endGrantsOfWallet,
    path: '/console/wallet/:id/end',
    crumbs: ({ params }) => [walletCrumb(params.id ?? '')],
    given: ({ params }) => ({ input: { wallet: params.id ?? '' } }),
    home: ({ params }, result) =>
      `/console/wallet${queryOf({ wallet: params.id, ended: (result?.output as { grants_ended: number } | undefined)?.grants_ended })}`,
  })
  addChange(console, {
    ...withoutForm,
    operation: endSession,
    path: '/console/sessions/:id/end',
    crumbs: ({ query }) => (query.text('wallet') === '' ? [] : [walletCrumb(query.text('wallet'))]),
    home: ({ query }, result) =>
      `/console/wallet${queryOf({ wallet: (result?.output as { wallet: string } | undefined)?.wallet ?? query.text('wallet') })}`,
  })
}
