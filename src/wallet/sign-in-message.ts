/**
 * The text a wallet signs to sign in (ERC-4361).
 *
 * It is composed twice from the same fields, once to be shown and once to check the signature, and never parsed: so it depends on its fields
 * alone, and a template that was ever shown keeps its bytes.
 */

import { type Address, parseAddress } from './address.ts'
import { checkForm, forms } from './message-grammar.ts'
import { transliterateName } from './plain-words.ts'

/** What the text is made of. Times in epoch seconds. */
export type SignInFields = {
  /** Number of the template; the challenge carries it. */
  template: number
  /** Authority of the configured login URL, such as `login.example.com` or `localhost:4001`: what the wallet compares with the page's host. */
  domain: string
  address: Address
  chainId: number
  /** As registered, any Unicode. */
  clientName: string
  /** Host, and port if any, of the redirect URI; for a private-use scheme (RFC 8252 §7.1) the scheme. */
  clientHost: string
  /** Each `[A-Za-z0-9._-]{1,64}`. */
  scopes: string[]
  /** End of what is allowed. */
  until: number
  uri: string
  /** At least 128 random bits, `[A-Za-z0-9]`: 22 characters or more. */
  nonce: string
  issuedAt: number
  expiresAt: number
  requestId: string
}

/** The template new challenges name. */
export const CURRENT_TEMPLATE = 1

/** A template is never edited: a new one gets the next number, and the old one stays for as long as a challenge lives. */
const templates: ReadonlyMap<number, (fields: SignInFields) => string> = new Map([[1, composePlainSignIn]])

/**
 * Composes the text, byte for byte the same for the same fields.
 *
 * @returns null when the template's number is not known here (any more): the caller answers 410, never "wrong signature".
 * @throws RangeError when a field of our own making does not fit the grammar. That is a defect: a wallet that cannot parse the text
 *   silently drops its warning about look-alike sites, and a line break in a field would write a field of its own.
 */
export function composeSignInMessage(fields: SignInFields): string | null {
  const compose = templates.get(fields.template)
  return compose === undefined ? null : compose(fields)
}

/** Template 1: one statement in plain words, no resources. */
function composePlainSignIn(fields: SignInFields): string {
  const address = parseAddress(fields.address)
  // Both parsers refuse, or warn about, an address that is not in EIP-55 form.
  if (address.kind !== 'address' || address.address !== fields.address) throw new RangeError('address is not in EIP-55 form')

  return [
    // No scheme before the domain: it is optional, and wallets without support for it would fail to parse the line.
    `${checkForm('domain', fields.domain, forms.authority)} wants you to sign in with your Ethereum account:`,
    address.address,
    '',
    composeStatement(fields),
    '',
    `URI: ${checkForm('uri', fields.uri, forms.uri)}`,
    'Version: 1',
    `Chain ID: ${checkForm('chainId', String(fields.chainId), forms.chainId)}`,
    `Nonce: ${checkForm('nonce', fields.nonce, forms.nonce)}`,
    `Issued At: ${writeTime('issuedAt', fields.issuedAt)}`,
    `Expiration Time: ${writeTime('expiresAt', fields.expiresAt)}`,
    `Request ID: ${checkForm('requestId', fields.requestId, forms.requestId)}`,
  ].join('\n')
}

/**
 * Which app, which host, what it may do, until when, and that signing moves nothing.
 *
 * What an app or an operator chose stands between single quotes and cannot contain one; the host cannot contain a space. So no choice of
 * theirs reads as words of ours.
 */
function composeStatement(fields: SignInFields): string {
  const name = transliterateName(fields.clientName)
  const app = name === '' ? 'the app' : `'${name}'`
  const scopes = fields.scopes.map((scope) => `'${checkForm('scope', scope, forms.scope)}'`)
  const permission = scopes.length === 0 ? 'know your address' : `use ${scopes.join(', ')} on your behalf`
  const day = writeTime('until', fields.until).slice(0, 10)
  return `Allow ${app} at ${writeHost(fields.clientHost)} to ${permission} until ${day} (UTC). Signing costs no gas and makes no transfer.`
}

/**
 * The host as it is, but for characters the statement cannot hold or that could end the host early: each becomes `_`, which no RFC 1123
 * host name contains, so the result never names somebody else's.
 */
function writeHost(host: string): string {
  if (host === '') throw new RangeError('clientHost is empty: a text that names no host must not be signed')
  return host.replace(/[^A-Za-z0-9.:[\]-]/gu, '_')
}

/** RFC 3339 in UTC, whole seconds. */
function writeTime(field: string, seconds: number): string {
  // RFC 3339 years have four digits.
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > 253_402_300_799)
    throw new RangeError(`${field} is not a time in epoch seconds`)
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
