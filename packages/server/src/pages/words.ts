import { type ClientPlace, isLoopbackHost } from '../protocol/oauth/redirect-uri.ts'
import { visibleText } from '../protocol/oauth/visible-text.ts'
import type { Plural, Texts } from './catalogue.ts'
import { type Fillable, Html, html } from './html.ts'
import type { Language } from './languages.ts'

/**
 * Fills a sentence of the catalogue: `fill('Sign in to {app}', { app: name })`.
 *
 * Names are isolated with <bdi>, so that a name that is written right to left, or that contains direction marks, cannot
 * reorder the sentence.
 */
export function fill(sentence: string, names: Record<string, Fillable>): Html {
  const parts = sentence.split(PLACEHOLDER)
  return html`${parts.map((part, i) => (i % 2 === 0 ? part : isolate(names[part])))}`
}

/** The same without markup, for <title>. */
export function fillPlain(sentence: string, names: Record<string, string>): string {
  return sentence.replace(PLACEHOLDER, (_, key: string) => names[key] ?? '')
}

/**
 * A name from outside, prepared for a page: no invisible characters, at most `longest` characters; '' if no visible character
 * is left.
 */
export function displayName(name: string, longest = LONGEST_NAME): string {
  const visible = visibleText(name)
  const characters = Array.from(visible)
  return characters.length <= longest ? visible : `${characters.slice(0, longest - 1).join('')}…`
}

/**
 * The app's name in sentences: its own name, or its host, or that it is an app on this device. The name of an app that is not registered
 * is unproved, so the host that publishes the app's metadata stands for it.
 */
export function appTitle(
  { clientName, clientHost, clientScheme, clientPublisher }: ClientPlace & { clientName: string },
  texts: Texts,
): string {
  const place = clientHost || (clientScheme ? texts.deviceApp : texts.anApp)
  if (clientPublisher !== undefined) return clientPublisher || (isLoopbackHost(hostnameOf(clientHost)) ? texts.deviceApp : place)
  return displayName(clientName) || place
}

/** "20 seconds", "1 minute", "12 minutes": never less than `seconds`. */
export function waitingTime(seconds: number, { formats }: Language): string {
  const { duration } = formats()
  return seconds < 60 ? duration.second.format(Math.max(1, Math.ceil(seconds))) : duration.minute.format(Math.ceil(seconds / 60))
}

/** The text for a count, with the count in place of `{n}`. */
export function countOf(words: Plural, count: number, { formats }: Language): string {
  const { plural, number } = formats()
  return fillPlain(words[plural.select(count)] ?? words.other, { n: number.format(count) })
}

/** `0xf39F…2266`. */
export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}

const PLACEHOLDER = /\{([a-z]+)\}/gi
const LONGEST_NAME = 60

function isolate(name: Fillable): Fillable {
  return name instanceof Html ? name : html`<bdi>${name}</bdi>`
}

/** A host without its port. */
export function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, '')
}
