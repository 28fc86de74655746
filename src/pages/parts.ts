import { type ClientPlace, isLoopbackHost } from '../oauth/redirect-uri.ts'
import { visibleText } from '../oauth/visible-text.ts'
import { type Html, html } from './html.ts'
import { symbol } from './symbols.ts'
import { texts } from './texts.ts'
import { displayName, fill, hostnameOf } from './words.ts'

/** Pieces that several pages share. */

export type Scope = {
  name: string
  description: string
  /** cannot be switched off */
  required?: boolean
}

/** The heading with the app's name, and the app's host. */
export function appHeading({ sentence, app, place }: { sentence: string; app: string; place: ClientPlace }): Html {
  return appName({ heading: html`<h1>${fill(sentence, { app })}</h1>`, app, place })
}

/**
 * An app: a tile with the first letter of the name, a heading with the name, and the host or device. An app cannot
 * choose a host that it does not own.
 */
export function appName({ heading, app, place }: { heading: Html; app: string; place: ClientPlace }): Html {
  return html`<div class="app">
<span class="tile" aria-hidden="true">${firstLetter(app)}</span>
<div>
${heading}
${placeLine(place)}
</div>
</div>`
}

/** The website of an app, or the scheme of an app on this device. For an app that is not registered also how the app calls itself. */
export function placeLine({
  clientHost,
  clientScheme,
  clientPublisher,
  clientName = '',
}: ClientPlace & { clientName?: string }): Html {
  if (clientPublisher !== undefined) return unregisteredLines({ clientHost, clientScheme, name: displayName(clientName) })
  // An app on another device has no place.
  if (!clientHost && !clientScheme) return html``
  return clientScheme
    ? html`<p class="host">${symbol('device')}<span>${fill(texts.onDevice, { scheme: `${clientScheme}:` })}</span></p>`
    : html`<p class="host">${symbol('host')}<bdi>${clientHost}</bdi></p>`
}

function unregisteredLines({ clientHost, clientScheme, name }: ClientPlace & { name: string }): Html {
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
export function permissions(list: { scopes: Scope[]; app: string; some: string; none: string; level?: 2 | 4 }): Html {
  const { scopes, app, some, none, level = 2 } = list
  if (scopes.length === 0) return html`<p class="lead">${fill(none, { app })}</p>`
  return html`<h${level} class="label">${fill(some, { app })}</h${level}>
<ul class="permissions">
${scopes.map((scope) => html`<li>${symbol('tick')}<span>${scopeWords(scope)}</span></li>`)}
</ul>`
}

/** What a scope allows, in the platform's text if there is one, and its name. */
export function scopeWords({ name, description }: Scope): Html {
  return html`${visibleText(description) || name} <code>${name}</code>`
}

function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name)
  return first?.segment.toUpperCase() ?? ''
}
