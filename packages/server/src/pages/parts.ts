import { isOwnDescription } from '../protocol/oauth/own-descriptions.ts'
import { type ClientPlace, isLoopbackHost } from '../protocol/oauth/redirect-uri.ts'
import { visibleText } from '../protocol/oauth/visible-text.ts'
import { type Html, html } from './html.ts'
import type { Language, Reader } from './languages.ts'
import { symbol } from './symbols.ts'
import { displayName, fill, hostnameOf } from './words.ts'

/** Pieces that several pages share. */

export type Scope = {
  name: string
  description: string
  /** cannot be switched off */
  required?: boolean
  /** The resources that have the scope, if the resources of the app have different scopes. `name` may be empty. */
  resources?: NamedUri[]
}

export type NamedUri = { uri: string; name: string }

/** The account of the user. */
export type ShownAccount = {
  /** `0xf39F…2266`, never the whole address */
  walletShort: string
  /** the name of the account, shown beside the address and never in place of it */
  walletName?: string | null
}

export function accountLabel({ walletShort, walletName }: ShownAccount): Html {
  // The element around the address has the direction of the page, so that the address is on the side of the other texts.
  return html`<span><code class="account">${walletShort}</code>${walletName && html` <bdi>${walletName}</bdi>`}</span>`
}

/** `logo`: the address of the logo that an operator uploaded. */
export type App = { heading: Html; app: string; place: ClientPlace; logo?: string | undefined }

/** The heading with the app's name, and the app's host. */
export function appHeading(given: Omit<App, 'heading'> & { sentence: string }, reader: Reader): Html {
  const { sentence, ...app } = given
  return appName({ ...app, heading: html`<h1>${fill(sentence, { app: app.app })}</h1>` }, reader)
}

/**
 * An app: a tile with its logo or the first letter of the name, a heading with the name, and the host or device. An app cannot
 * choose a host that it does not own.
 */
export function appName({ heading, app, place, logo }: App, reader: Reader): Html {
  return html`<div class="app">
${logo === undefined ? html`<span class="tile" aria-hidden="true">${firstLetter(app)}</span>` : html`<img class="tile" src="${logo}" alt="" width="52" height="52">`}
<div>
${heading}
${placeLine(place, reader)}
</div>
</div>`
}

/** The website of an app, or the scheme of an app on this device. For an app that is not registered also how the app calls itself. */
export function placeLine(place: ClientPlace & { clientName?: string }, reader: Reader): Html {
  const { clientHost, clientScheme, clientPublisher, clientName = '' } = place
  if (clientPublisher !== undefined) return unregisteredLines({ clientHost, clientScheme, name: displayName(clientName) }, reader)
  // An app on another device has no place.
  if (!clientHost && !clientScheme) return html``
  return clientScheme
    ? html`<p class="host">${symbol('device')}<span>${fill(reader.texts.onDevice, { scheme: `${clientScheme}:` })}</span></p>`
    : html`<p class="host">${symbol('host')}<bdi>${breakingAtDots(clientHost)}</bdi></p>`
}

/** A long host begins a new line at a dot, and not in the middle of a word. */
function breakingAtDots(host: string): Html {
  const [first = '', ...others] = host.split('.')
  return html`${first}${others.map((label) => html`.<wbr>${label}`)}`
}

function unregisteredLines({ clientHost, clientScheme, name }: ClientPlace & { name: string }, { texts }: Reader): Html {
  const words = texts.unregistered
  const answer = clientScheme
    ? fill(words.answerToScheme, { scheme: `${clientScheme}:` })
    : isLoopbackHost(hostnameOf(clientHost))
      ? words.answerToThisMachine
      : fill(words.answerTo, { host: clientHost })
  const callsItself = name && html`<p class="host"><span>${fill(words.callsItself, { name })}</span></p>`
  if (!clientHost && !clientScheme) return html`${callsItself}`
  return html`${callsItself}
<p class="host">${symbol(clientScheme || isLoopbackHost(hostnameOf(clientHost)) ? 'device' : 'host')}<span>${answer}</span></p>`
}

/** The app's permissions, one line per scope, under a heading of the given level. */
export function permissions(
  given: { scopes: Scope[]; app: string; some: string; none: string; level?: 2 | 4 },
  reader: Reader,
): Html {
  const { scopes, app, some, none, level = 2 } = given
  if (scopes.length === 0) return html`<p class="lead">${fill(none, { app })}</p>`
  const list = (own: Scope[]): Html => html`<ul class="permissions">
${own.map((scope) => html`<li>${symbol('tick')}<span>${scopeWords(scope, reader)}</span></li>`)}
</ul>`
  const group = ({ places, scopes: own }: ScopeGroup): Html =>
    html`${places.length > 0 && html`<h${level + 1} class="place">${placeWords(places, reader)}</h${level + 1}>`}
${list(own)}`
  return html`<h${level} class="label">${fill(some, { app })}</h${level}>
${groupScopes(scopes).map(group)}`
}

type ScopeGroup = { places: NamedUri[]; scopes: Scope[] }

/** The scopes in groups, each of which belongs to the same resources. One group without resources if every resource has every scope. */
export function groupScopes(scopes: Scope[]): ScopeGroup[] {
  const groups = new Map<string, ScopeGroup>()
  for (const scope of scopes) {
    const places = scope.resources ?? []
    const key = places.map(({ uri }) => uri).join(' ')
    const group = groups.get(key) ?? { places, scopes: [] }
    group.scopes.push(scope)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Where the scopes of a group are valid: the name of each resource, if it has one, and its URI. */
export function placeWords(places: NamedUri[], { texts }: Reader): Html {
  const shown = places.map(({ uri, name }) => {
    const visible = displayName(name)
    return html`<span>${visible && html`<bdi>${visible}</bdi>`}<code>${uri}</code></span>`
  })
  return fill(places.length === 1 ? texts.atPlace : texts.atPlaces, { places: html`${shown}` })
}

/** What a scope allows, and its name. A description of the operator has no translation. */
export function scopeWords(scope: Scope, { texts }: Language): Html {
  const { name, description } = scope
  const words = isOwnDescription(scope) ? texts.scopes[scope.name] : html`<bdi>${visibleText(description) || name}</bdi>`
  return html`${words} <code>${name}</code>`
}

function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name)
  return first?.segment.toUpperCase() ?? ''
}
