import { type Html, html } from '../html.ts'
import { fromNow } from '../times.ts'
import { consoleLayout, type Frame } from './console-layout.ts'
import {
  buttonLink,
  counted,
  doneMessage,
  exact,
  type Fact,
  facts,
  lines,
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

/** A client as the admin API returns it. */
export type ClientRecord = {
  client_id: string
  name: string
  type: string
  redirect_uris: string[]
  scopes: string[]
  resources: string[]
  consent: string
  grant_types: string[]
  token_endpoint_auth_method: string
  secrets: { expires_at: number | null }[]
  created_at: number
  disabled_at: number | null
  [member: string]: unknown
}

type ListView = {
  frame: Frame
  clients: ClientRecord[]
  search: string
  next: string | null
  mayChange: boolean
  done?: string | undefined
  now: number
}

export function clientsPage({ frame, clients, search, next, mayChange, done, now }: ListView): string {
  return consoleLayout({
    title: 'Clients',
    frame,
    content: html`${titleRow('Clients', mayChange && buttonLink('/console/clients/new', 'Register a client', 'main'))}
${doneMessage(done)}
<form method="get" action="/console/clients" class="search" role="search">
<label for="search">Name or client id</label>
<input type="search" id="search" name="search" value="${search}" maxlength="100" autocomplete="off">
<button class="button quiet small">Search</button>
</form>
${table(
  'Clients',
  [
    { name: 'Name', cell: ({ client_id: id, name }) => link(pathTo('clients', id), named(name, 'without a name')), kind: 'main' },
    { name: 'Client id', cell: ({ client_id: id }) => html`<code>${id}</code>` },
    { name: 'Type', cell: ({ type }) => type },
    { name: 'Registered', cell: ({ created_at: at }) => fromNow(at, now) },
    { name: 'State', cell: stateOf },
  ],
  clients,
  search === ''
    ? 'No client is registered yet.'
    : next === null
      ? 'No client has this text in its name or id.'
      : 'No client on this page has this text in its name or id.',
)}
${nextLink(next, search === '' ? 'Next page' : 'Search further')}`,
  })
}

function stateOf({ disabled_at: disabledAt }: Pick<ClientRecord, 'disabled_at'>): Html {
  return disabledAt === null ? tag('enabled', 'good') : tag('disabled', 'warn')
}

type ShowView = {
  frame: Frame
  client: ClientRecord
  unended: { count: number; atMost: number }
  mayChange: boolean
  mayEnd: boolean
  done?: string | undefined
  now: number
}

export function clientPage({ frame, client, unended, mayChange, mayEnd, done, now }: ShowView): string {
  const id = client.client_id
  const to = (what: string): string => pathTo('clients', id, what)
  const hasSecret = client.token_endpoint_auth_method.startsWith('client_secret')
  return consoleLayout({
    title: client.name,
    frame,
    content: html`${titleRow(named(client.name, id), mayChange && buttonLink(to('change'), 'Change', 'main'))}
${doneMessage(done)}
<div class="columns">
${section('Registration', facts(registrationOf(client)))}
${section(
  'State',
  html`${facts([
    ['State', html`${stateOf(client)}${client.disabled_at !== null && html` since ${moment(client.disabled_at)}`}`],
    ['Grants that have not ended', html`<strong id="unended">${counted(unended.count, 'grant', unended.atMost)}</strong>`],
    ['Secrets', secretsOf(client, now)],
    ['Registered', moment(client.created_at)],
  ])}
${
  (mayChange || mayEnd) &&
  html`<p class="page-actions">
${mayChange && hasSecret && buttonLink(to('rotate-secret'), 'Rotate the secret')}
${mayChange && (client.disabled_at === null ? buttonLink(to('disable'), 'Disable') : buttonLink(to('enable'), 'Enable'))}
${mayEnd && buttonLink(to('end-grants'), 'End all grants', 'danger')}
${mayChange && buttonLink(to('delete'), 'Delete', 'danger')}
</p>`
}
${frame.mayReadAudit && html`<p class="fine">${link(`/console/audit?client_id=${encodeURIComponent(id)}`, 'What happened to this client')}</p>`}`,
)}
</div>
<details class="block"><summary>All settings, as in the API</summary><pre class="paper" tabindex="0" role="group" aria-label="All settings">${JSON.stringify(client, null, 2)}</pre></details>`,
  })
}

function registrationOf(client: ClientRecord): Fact[] {
  return [
    ['Client id', html`<code>${client.client_id}</code>`],
    ['Type', client.type],
    ['Redirect URIs', lines(client.redirect_uris)],
    ['Scopes', lines(client.scopes)],
    ['Resources', lines(client.resources, 'only the default resource')],
    ['Grant types', lines(client.grant_types)],
    ['Authentication', exact(client.token_endpoint_auth_method)],
    ['Consent', client.consent === 'signed' ? 'signed: the wallet signs each consent' : 'session: a valid session counts'],
  ]
}

function secretsOf({ secrets }: ClientRecord, now: number): Html {
  if (secrets.length === 0) return html`<span class="none">none</span>`
  return html`<ul class="plain">${secrets.map(({ expires_at: at }) => html`<li>${at === null ? 'valid' : html`the previous one, ends ${fromNow(at, now)}`}</li>`)}</ul>`
}

/** The only page that ever shows a secret. */
export function secretPage({
  frame,
  client,
  secret,
  isNew,
}: {
  frame: Frame
  client: ClientRecord
  secret: string | null
  isNew: boolean
}): string {
  return consoleLayout({
    title: isNew ? 'The client is registered' : 'The new secret',
    frame,
    content: html`<div class="narrow"><article class="card">
<h1>${isNew ? 'The client is registered' : 'The secret is rotated'}</h1>
${facts([
  ['Name', named(client.name, 'without a name')],
  ['Client id', html`<code id="client-id">${client.client_id}</code>`],
])}
${
  secret === null
    ? html`<p>This client has no secret.</p>`
    : html`<h2>Client secret</h2>
<p class="message problem">Copy it now. It is shown once and stored nowhere.</p>
<p class="paper" id="client-secret">${secret}</p>`
}
<p class="actions">${buttonLink(pathTo('clients', client.client_id), 'The client')}</p>
</article></div>`,
  })
}
