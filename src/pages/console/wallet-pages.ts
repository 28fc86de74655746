import type { GrantRecord, ReceiptRecord } from '../../operations/grants.ts'
import type { SessionRecord } from '../../operations/sessions.ts'
import { counted } from '../../operations/words.ts'
import { type Html, html } from '../html.ts'
import { type Scope, scopeWords } from '../parts.ts'
import { fromNow } from '../times.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import {
  buttonLink,
  doneMessage,
  exact,
  facts,
  link,
  moment,
  named,
  nextLink,
  pathTo,
  section,
  table,
  tag,
  titleRow,
} from './parts.ts'

export type GrantView = GrantRecord & { clientName: string; scopeWords: Scope[] }

export type WalletView = {
  frame: Frame
  /** what was entered; empty before the first search */
  entered: string
  fault?: string | undefined
  found?: {
    wallet: string
    grants: GrantView[]
    moreGrants: string | null
    unended: { count: number; atMost: number }
    sessions: SessionRecord[]
    moreSessions: string | null
  }
  mayEnd: boolean
  done?: string | undefined
  now: number
}

export function walletPage(view: WalletView): string {
  const { frame, entered, fault, found, done } = view
  return consoleLayout({
    title: 'Wallets',
    frame,
    content: html`${titleRow('Wallets')}
${doneMessage(done)}
<form method="get" action="/console/wallet" class="search" role="search">
<label for="wallet">Address of a wallet</label>
<input type="text" id="wallet" name="wallet" value="${entered}" class="code" placeholder="0x…" autocomplete="off" spellcheck="false" maxlength="100"${fault !== undefined && html` aria-invalid="true" aria-describedby="wallet-fault"`}>
<button class="button quiet small">Show</button>
${fault !== undefined && html`<p class="field-problem" id="wallet-fault" role="alert">${fault}</p>`}
</form>
${found ? walletContent(found, view) : fault === undefined && html`<p class="lead">What a wallet allowed, and where it is signed in.</p>`}`,
  })
}

function walletContent(found: NonNullable<WalletView['found']>, { mayEnd, now, frame }: WalletView): Html {
  const { wallet, grants, unended, sessions } = found
  return html`<p class="wallet-line"><code id="address">${wallet}</code>${frame.mayReadAudit && html`<br>${link(`/console/audit?wallet=${wallet}`, 'What happened to this wallet')}`}</p>
${section(
  'Grants',
  html`${grants.length > 0 && html`<p>${counted(unended.count, 'grant', unended.atMost)} of this wallet ${unended.count === 1 ? 'has' : 'have'} not ended.</p>`}
${mayEnd && unended.count > 0 && html`<p class="page-actions">${buttonLink(pathTo('wallet', wallet, 'end'), 'End all grants of this wallet', 'danger')}</p>`}
${grantsTable(grants, { mayEnd, now })}
${nextLink(found.moreGrants, 'Older grants')}`,
  'grants',
)}
${section(
  'Sessions',
  html`${table(
    'Sessions',
    [
      { name: 'Signed in', cell: ({ signed_in_at: at }) => fromNow(at, now), kind: 'main' },
      { name: 'Proof', cell: ({ method }) => (method === 'signature' ? 'signature' : 'the login server vouched') },
      { name: 'Last seen', cell: ({ last_seen_at: at }) => fromNow(at, now) },
      { name: 'Ends', cell: ({ expires_at: at }) => fromNow(at, now) },
      ...(mayEnd
        ? [
            {
              name: 'End',
              cell: ({ session_id: id }: SessionRecord) =>
                buttonLink(`${pathTo('sessions', id, 'end')}?wallet=${wallet}`, 'End', 'danger'),
            },
          ]
        : []),
    ],
    sessions,
    'This wallet is signed in nowhere.',
  )}
${nextLink(found.moreSessions, 'Older sessions')}`,
  'sessions',
)}`
}

function grantsTable(grants: GrantView[], { mayEnd, now }: { mayEnd: boolean; now: number }): Html {
  return table(
    'Grants',
    [
      {
        name: 'App',
        cell: ({ grant_id: id, clientName, client_id: clientId }) => link(pathTo('grants', id), named(clientName, clientId)),
        kind: 'main',
      },
      { name: 'It may', cell: ({ scopeWords }) => scopesList(scopeWords) },
      { name: 'Since', cell: ({ created_at: at }) => fromNow(at, now) },
      { name: 'State', cell: (grant) => stateOf(grant) },
      ...(mayEnd
        ? [
            {
              name: 'End',
              cell: ({ grant_id: id, state }: GrantView) =>
                state === 'ended' ? '–' : buttonLink(pathTo('grants', id, 'end'), 'End', 'danger'),
            },
          ]
        : []),
    ],
    grants,
    'This wallet has allowed nothing.',
  )
}

function scopesList(scopes: Scope[]): Html {
  return html`<ul class="plain">${scopes.map((scope) => html`<li>${scopeWords(scope)}</li>`)}</ul>`
}

function stateOf({ state, end_reason: endReason }: GrantView): Html {
  if (state === 'active') return tag('active', 'good')
  return html`${tag(state, state === 'ended' ? 'plain' : 'warn')}${endReason !== null && html` <code>${endReason}</code>`}`
}

type GrantPageView = { frame: Frame; grant: GrantView; receipt: ReceiptRecord | null; mayEnd: boolean; done?: string | undefined }

export function grantPage({ frame, grant, receipt, mayEnd, done }: GrantPageView): string {
  const { grant_id: id, wallet, client_id: clientId } = grant
  const atClient = `${pathTo('wallet', wallet, 'end')}?client_id=${encodeURIComponent(clientId)}`
  return consoleLayout({
    title: 'Grant',
    frame,
    content: html`${titleRow(html`Grant to ${named(grant.clientName, clientId)}`, mayEnd && html`${grant.state !== 'ended' && buttonLink(pathTo('grants', id, 'end'), 'End this grant', 'danger')} ${buttonLink(atClient, 'End all of this app for the wallet', 'danger')}`)}
${doneMessage(done)}
<div class="columns">
${section(
  'What the wallet allowed',
  html`${facts([
    ['Wallet', link(`/console/wallet?wallet=${encodeURIComponent(wallet)}`, html`<code>${wallet}</code>`)],
    ['Client', html`<code>${clientId}</code>`],
    ['It may', scopesList(grant.scopeWords)],
    ['At', html`<ul class="plain">${grant.resources.map((uri) => html`<li>${exact(uri)}</li>`)}</ul>`],
  ])}`,
)}
${section(
  'State',
  facts([
    ['State', stateOf(grant)],
    ['Since', moment(grant.created_at)],
    ['Refreshed', moment(grant.refreshed_at)],
    ['Expires', moment(grant.expires_at)],
    grant.ended_at !== null && ['Ended', moment(grant.ended_at)],
    ['Grant id', html`<code>${id}</code>`],
    frame.mayReadAudit && ['Audit', link(`/console/audit?grant_id=${encodeURIComponent(id)}`, 'What happened to this grant')],
  ]),
)}
</div>
${section(
  'The text that the wallet signed',
  receipt === null
    ? html`<p class="lead">There is no receipt: the login server vouched for the wallet, a session was sufficient, or the key that sealed the receipt is retired.</p>`
    : html`${facts([
        ['Signed', moment(receipt.issued_at)],
        ['Valid until', moment(receipt.expires_at)],
        receipt.withdrawn_at !== null && ['Withdrawn', moment(receipt.withdrawn_at)],
      ])}
<pre class="paper" id="message" role="group" aria-label="The text that the wallet signed" tabindex="0">
${receipt.message}</pre>
<h3>Signature</h3>
<p class="paper" id="receipt-signature">${receipt.signature}</p>`,
)}`,
  })
}
