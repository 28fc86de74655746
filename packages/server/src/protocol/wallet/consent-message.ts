/**
 * The older texts with which a wallet signs in and consents at once (ERC-4361 with an ERC-5573 ReCap): template 2 for a
 * website, template 5 for an app on the device, template 6 for an app that is not registered. Template 7 is for all three,
 * if the scopes of the resources differ. New challenges have the shorter texts of `short-consent.ts`.
 *
 * The signed text is kept as a receipt, so it contains everything that was agreed: the app, the scopes, the resources
 * and the end (OpenID Connect Core §16.18).
 */

import { checkForm, forms } from './message-grammar.ts'
import { composeLines, type MessageHeader, writeApp, writeDay, writeHost } from './message-lines.ts'
import { transliterateName } from './plain-words.ts'
import { encodeRecap, translateRecap } from './recap.ts'

/** The fields of the text. Times in epoch seconds. */
export type ConsentFields = MessageHeader & {
  /** Number of the template, from the challenge. */
  template: number
  /** As registered, any Unicode. */
  clientName: string
  /** Host, and port if any, of the redirect URI. For a private-use scheme (RFC 8252 §7.1), the scheme. */
  clientHost: string
  /** A UUID; for an app that no operator registered, in templates 6 and 7, the URL of the app's metadata document, or the hash (RFC 6920) of a registration that the app made itself. */
  clientId: string
  /** The redirect URI of the request: the party that the text authorizes. */
  redirectUri: string
  /** At least one; each `[A-Za-z0-9._-]{1,64}`. Order does not matter. */
  scopes: readonly string[]
  /** At least one; each an absolute URI without quotes and percent signs. Order does not matter. */
  resources: readonly string[]
  /** The scopes of each resource, if they differ; only in template 7. */
  scopesByResource?: Readonly<Record<string, readonly string[]>> | undefined
  /** End of the grant. */
  until: number
  /** RFC 7638 thumbprint of the key that the tokens are bound to (RFC 9449), base64url of SHA-256. */
  keyThumbprint?: string | undefined
}

export const WEBSITE_TEMPLATE = 2
export const DEVICE_TEMPLATE = 5
export const METADATA_TEMPLATE = 6
export const SCOPES_BY_RESOURCE_TEMPLATE = 7

/**
 * A template is never edited. A new template gets the next free number, and an old one is kept as long as receipts of
 * it exist.
 */
const templates: ReadonlyMap<number, (fields: ConsentFields) => string | null> = new Map<
  number,
  (fields: ConsentFields) => string | null
>([
  [WEBSITE_TEMPLATE, withEveryScope(composeWebsiteConsent)],
  [DEVICE_TEMPLATE, withEveryScope(composeDeviceConsent)],
  [METADATA_TEMPLATE, withEveryScope(composeMetadataConsent)],
  [SCOPES_BY_RESOURCE_TEMPLATE, composeForApp],
])

/** Null if the scopes of the resources differ: the text would give each resource every scope. */
function withEveryScope(compose: (fields: ConsentFields) => string | null): (fields: ConsentFields) => string | null {
  return (fields) => (fields.scopesByResource === undefined ? compose(fields) : null)
}

/** The words of template 6, 5 or 2: whichever is for this app. Template 2 also wrote private-use schemes as if they were hosts. */
function composeForApp(fields: ConsentFields): string | null {
  if (isUrl(fields.clientId)) return composeMetadataConsent(fields)
  return privateUseScheme(fields.redirectUri) === null ? composeWebsiteConsent(fields) : composeDeviceConsent(fields)
}

/**
 * Composes the text. The same fields always give the same bytes.
 *
 * @returns null if this version does not have the template, or if the template is not for this app or its scopes: the caller responds
 * with 410, never with "wrong signature".
 * @throws RangeError if a field does not fit the grammar: a defect, because registration refuses values that the text
 * cannot contain.
 */
export function composeConsentMessage(fields: ConsentFields): string | null {
  const compose = templates.get(fields.template)
  return compose === undefined ? null : compose(fields)
}

function composeWebsiteConsent(fields: ConsentFields): string {
  return composeRegistered(fields, `at ${writeHost(fields.clientHost)}`)
}

/** Throws for a client id that is not a UUID: such a client is not registered, and its text must state that. */
function composeRegistered(fields: ConsentFields, place: string): string {
  const client = `urn:uuid:${checkForm('clientId', fields.clientId, forms.uuid)}`
  return composeConsent(fields, composePlainWords(fields, place), client)
}

/**
 * ERC-5573: the URI names the authorized party, Expiration Time is the end of the authorization, the ReCap is the last
 * resource, and its sentence is the end of the statement.
 */
function composeConsent(fields: ConsentFields, plainWords: string, client: string): string {
  // Otherwise a signed statement could name one host and the URI another.
  if (fields.clientHost !== hostOf(fields.redirectUri)) throw new RangeError('clientHost is not the host of redirectUri')
  const key = fields.keyThumbprint
  return composeLines({
    ...fields,
    statement: `${plainWords} ${translateRecap(fields)}`,
    uri: fields.redirectUri,
    expiresAt: fields.until,
    resources: [
      fields.redirectUri,
      client,
      // RFC 9278
      ...(key === undefined
        ? []
        : [`urn:ietf:params:oauth:jwk-thumbprint:sha-256:${checkForm('keyThumbprint', key, forms.sha256)}`]),
      encodeRecap(fields),
    ],
  })
}

/**
 * The host as a browser that follows the URI reads it; the scheme if a scheme names the app (RFC 8252 §7.1); '' if
 * there is neither.
 */
export function hostOf(uri: string): string {
  return privateUseScheme(uri) ?? (URL.canParse(uri) ? new URL(uri).host : '')
}

/** The scheme of a URI that opens an app on the device (RFC 8252 §7.1); null for a web address. */
export function privateUseScheme(uri: string): string | null {
  return /^https?:/i.test(uri) ? null : uri.slice(0, uri.indexOf(':'))
}

/** Null for a web address: a text that does not name the app's host must not be signed. */
function composeDeviceConsent(fields: ConsentFields): string | null {
  const scheme = privateUseScheme(fields.redirectUri)
  return scheme === null ? null : composeRegistered(fields, `(an app on this device that opens ${scheme}: links)`)
}

/**
 * Names the app, its host or scheme and the end, and states that signing transfers nothing. The next sentence lists the
 * permissions.
 */
function composePlainWords(fields: ConsentFields, place: string): string {
  return `Allow ${writeApp(fields.clientName)} ${place} to do only what follows, until ${writeDay('until', fields.until)} (UTC). ${NO_TRANSFER}`
}

const NO_TRANSFER = 'Signing costs no gas and makes no transfer.'

/**
 * No operator registered the app. Only the host of its metadata document is proved, so the text names this host
 * first. The text states that the app chose its name. Null for the id of a registered client.
 */
function composeMetadataConsent(fields: ConsentFields): string | null {
  const host = publisherOf(fields.clientId)
  if (host === null) return null
  const name = transliterateName(fields.clientName)
  const own = name === '' ? '' : ` (it calls itself '${name}')`
  const app = `${host === '' ? 'an app that registered itself' : `the app of ${writeHost(host)}`}${own}`
  const day = writeDay('until', fields.until)
  return composeConsent(
    fields,
    `Allow ${app} to do only what follows, until ${day} (UTC). The answer goes to ${writeDestination(fields)}. ${NO_TRANSFER}`,
    fields.clientId,
  )
}

function writeDestination({ redirectUri, clientHost }: ConsentFields): string {
  const scheme = privateUseScheme(redirectUri)
  if (scheme !== null) return `an app on this device that opens ${scheme}: links`
  return isOnThisDevice(redirectUri) ? 'a program on this device' : writeHost(clientHost)
}

/** Whether the URI leads to a program on the device of the browser. */
export function isOnThisDevice(uri: string): boolean {
  return URL.canParse(uri) && /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(uri).hostname)
}

/**
 * The host that publishes the metadata of an app that no operator registered; empty if the app registered itself; null for an app of an
 * operator.
 */
export function publisherOf(clientId: string): string | null {
  return isUrl(clientId) && URL.canParse(clientId) ? new URL(clientId).host : null
}

function isUrl(clientId: string): boolean {
  return /^(?:https?|ni):\/\//.test(clientId)
}
