/**
 * The text with which a wallet signs in and consents at once (ERC-4361 with an ERC-5573 ReCap), template 2.
 *
 * It is kept as a receipt, so it says everything that was agreed: to whom, what, on which resources, until when (OpenID Connect
 * Core §16.18).
 */

import { checkForm, forms } from './message-grammar.ts'
import { composeLines, type MessageHeader, writeApp, writeDay, writeHost } from './message-lines.ts'
import { encodeRecap, translateRecap } from './recap.ts'

/** What the text is made of. Times in epoch seconds. */
export type ConsentFields = MessageHeader & {
  /** Number of the template; the challenge carries it. */
  template: number
  /** As registered, any Unicode. */
  clientName: string
  /** Host, and port if any, of the redirect URI; for a private-use scheme (RFC 8252 §7.1) the scheme. */
  clientHost: string
  /** A UUID. */
  clientId: string
  /** The one the answer goes to: the delegate. */
  redirectUri: string
  /** At least one; each `[A-Za-z0-9._-]{1,64}`. Order does not matter. */
  scopes: readonly string[]
  /** At least one; each an absolute URI without quotes and percent signs. Order does not matter. */
  resources: readonly string[]
  /** End of the grant. */
  until: number
  /** RFC 7638 thumbprint of the key that the tokens are bound to (RFC 9449), base64url of SHA-256. */
  keyThumbprint?: string | undefined
}

export const CONSENT_TEMPLATE = 2

/** A template is never edited: a new one gets the next free number, and the old one stays for as long as receipts of it do. */
const templates: ReadonlyMap<number, (fields: ConsentFields) => string> = new Map([[CONSENT_TEMPLATE, composeConsent]])

/**
 * Composes the text, byte for byte the same for the same fields.
 *
 * @returns null when the template's number is not known here (any more): the caller answers 410, never "wrong signature".
 * @throws RangeError when a field does not fit the grammar: a defect, because registration refuses what the text cannot hold.
 */
export function composeConsentMessage(fields: ConsentFields): string | null {
  const compose = templates.get(fields.template)
  return compose === undefined ? null : compose(fields)
}

/**
 * Template 2. ERC-5573: the URI is the one who is authorized, Expiration Time the end of what is authorized, the ReCap the last resource,
 * and its sentence the end of the statement.
 */
function composeConsent(fields: ConsentFields): string {
  // A statement that names one host beside the URI of another would be a lie with a signature under it.
  if (fields.clientHost !== hostOf(fields.redirectUri)) throw new RangeError('clientHost is not the host of redirectUri')
  const key = fields.keyThumbprint
  return composeLines({
    ...fields,
    statement: `${composePlainWords(fields)} ${translateRecap(fields)}`,
    uri: fields.redirectUri,
    expiresAt: fields.until,
    resources: [
      fields.redirectUri,
      `urn:uuid:${checkForm('clientId', fields.clientId, forms.uuid)}`,
      // RFC 9278
      ...(key === undefined
        ? []
        : [`urn:ietf:params:oauth:jwk-thumbprint:sha-256:${checkForm('keyThumbprint', key, forms.sha256)}`]),
      encodeRecap(fields),
    ],
  })
}

/** As a browser that follows the URI understands it; the scheme where that names the app (RFC 8252 §7.1); '' where there is none. */
export function hostOf(uri: string): string {
  if (!/^https?:/i.test(uri)) return uri.slice(0, uri.indexOf(':'))
  return URL.canParse(uri) ? new URL(uri).host : ''
}

/** Which app, which host, until when, and that signing moves nothing. What it may do is the sentence that follows. */
function composePlainWords(fields: ConsentFields): string {
  return `Allow ${writeApp(fields.clientName)} at ${writeHost(fields.clientHost)} to do only what follows, until ${writeDay('until', fields.until)} (UTC). Signing costs no gas and makes no transfer.`
}
