/**
 * The translation that stands beside a text to sign. The text itself is printable ASCII and English, because wallets show other characters
 * in different ways. The translation is made from the fields of the text, so a text that this service does not compose has none.
 */
import { readAccountPurpose } from '../protocol/wallet/account-message.ts'
import { isOnThisDevice, publisherOf } from '../protocol/wallet/app-place.ts'
import { type ApprovedAction, readApproval } from '../protocol/wallet/read-approval.ts'
import { type Consent, readConsent } from '../protocol/wallet/read-consent.ts'
import { type Html, html } from './html.ts'
import type { Language } from './languages.ts'
import { limitNumbers } from './limit-words.ts'
import { fillPlain, shortAddress } from './words.ts'

/** One paragraph per statement of the text; empty in English, and for a text that cannot be read. */
export function translateSignedText(message: string, language: Language): string[] {
  const { tag, texts } = language
  if (tag === 'en') return []
  const words = texts.signedText
  const statements = translateStatements(message, language)
  if (statements.length === 0) return []
  const [domain, address] = readFirstLines(message)
  const wants = fillPlain(words.wants, { host: leftToRight(domain), account: leftToRight(shortAddress(address)) })
  return [wants, ...statements, words.noTransfer, words.otherLines]
}

function translateStatements(message: string, language: Language): string[] {
  const consent = readConsent(message)
  if (consent !== null) return translateConsent(consent, language)
  const action = readApproval(message)
  if (action !== null) return translateApproval(action, language)
  const purpose = readAccountPurpose(message)
  return purpose === null ? [] : [language.texts.signedText[purpose]]
}

/** The same as a part of a page. */
export function translationOf(message: string, language: Language): Html | false {
  const paragraphs = translateSignedText(message, language)
  if (paragraphs.length === 0) return false
  return translationBox({ body: html`${paragraphs.map((each) => html`<p>${each}</p>\n`)}` }, language)
}

/** Without `body`, the script of the page adds the paragraphs and shows the box. */
export function translationBox({ body }: { body?: Html }, { tag, texts }: Language): Html | false {
  if (tag === 'en') return false
  return html`<section class="help" id="translation" aria-labelledby="translation-title"${!body && html` hidden`}>
<h3 id="translation-title">${texts.signedText.title}</h3>
<div id="translated">${body}</div>
<p class="fine">${texts.signedText.counts}</p>
</section>`
}

function readFirstLines(message: string): [domain: string, address: string] {
  const [first = '', second = ''] = message.split('\n', 2)
  return [first.split(' ', 1)[0] ?? '', second]
}

function translateConsent(consent: Consent, language: Language): string[] {
  const { texts, formats } = language
  const { userCode, shownBy, grants, until } = consent
  const words = texts.signedText
  const isUnregistered = publisherOf(consent.clientId) !== null
  return [
    fillPlain(words.allow, { app: isolate(nameApp(consent, language)), day: formats().day.format(until * 1000) }),
    ...grants.map(({ resource, scopes }) => `${leftToRight(resource)}: ${leftToRight(scopes.join(', '))}`),
    ...(consent.limit ? limitSentences(consent.limit, language) : []),
    ...describeOwnName(consent, language),
    ...(userCode === undefined
      ? []
      : [fillPlain(shownBy === 'browser' ? words.toBrowser : words.toDevice, { code: leftToRight(userCode) })]),
    ...(isUnregistered && shownBy !== 'device' ? [`${nameDestination(consent, language)}${texts.stop.trim()}`] : []),
  ]
}

function limitSentences({ scope, limit }: NonNullable<Consent['limit']>, language: Language): string[] {
  const numbers = limitNumbers(limit, language).map(({ label, value }) => `${isolate(label)}: ${leftToRight(value)}`)
  return [`${leftToRight(scope)}: ${numbers.join('; ')}`]
}

function translateApproval(action: ApprovedAction, language: Language): string[] {
  const { summary, apiHost, resource, scope } = action
  const words = language.texts.signedText
  return [
    // The summary may be in another language and may contain anything: quotes that it cannot contain mark its ends.
    fillPlain(words.once, { summary: leftToRight(`'${summary}'`) }),
    fillPlain(words.wordsOf, { host: leftToRight(apiHost) }),
    fillPlain(words.forApp, { app: isolate(nameClient(action, language)) }),
    ...describeOwnName(action, language),
    `${leftToRight(resource)}: ${leftToRight(scope)}`,
  ]
}

type ClientNames = { clientId: string; clientName: string }

function describeOwnName({ clientId, clientName }: ClientNames, { texts }: Language): string[] {
  if (publisherOf(clientId) === null || clientName === '') return []
  return [fillPlain(texts.unregistered.callsItself, { name: isolate(clientName) })]
}

/** A client without the place of its redirect URI. */
function nameClient({ clientId, clientName }: ClientNames, { texts }: Language): string {
  const publisher = publisherOf(clientId)
  if (publisher === '') return texts.signedText.selfRegistered
  if (publisher !== null) return fillPlain(texts.signedText.appOf, { host: leftToRight(publisher) })
  return clientName || leftToRight(clientId)
}

function nameApp(consent: Consent, language: Language): string {
  const { clientId, clientName, clientHost, clientScheme, shownBy } = consent
  if (publisherOf(clientId) !== null || shownBy === 'device') return nameClient(consent, language)
  const { texts } = language
  const place =
    clientScheme === null ? leftToRight(clientHost) : fillPlain(texts.onDevice, { scheme: leftToRight(`${clientScheme}:`) })
  return clientName ? `${isolate(clientName)} (${place})` : place
}

function nameDestination({ redirectUri, clientHost, clientScheme, shownBy }: Consent, { texts }: Language): string {
  const { answerTo, answerToScheme, answerToThisMachine } = texts.unregistered
  if (clientScheme !== null) return fillPlain(answerToScheme, { scheme: leftToRight(`${clientScheme}:`) })
  if (shownBy === 'browser' && clientHost === '') return texts.signedText.answerToThatDevice
  return isOnThisDevice(redirectUri) ? answerToThisMachine : fillPlain(answerTo, { host: leftToRight(clientHost) })
}

/** With the isolates of Unicode (UAX #9): the script of the page inserts the paragraphs as text. */
function leftToRight(text: string): string {
  return `\u2066${text}\u2069`
}

function isolate(text: string): string {
  return `\u2068${text}\u2069`
}
