/**
 * The lines of a text to sign (ERC-4361), in their order, and the values that all templates write in the same form.
 *
 * Every template uses these functions and must keep its bytes, so these functions must not change their output.
 */

import { type Address, parseAddress } from './address.ts'
import { checkForm, forms } from './message-grammar.ts'
import { transliterateName } from './plain-words.ts'

/** The fields of every text. Times in epoch seconds. */
export type MessageHeader = {
  /**
   * Authority of the configured login URL, such as `login.example.com` or `localhost:4001`. Wallets compare it with the
   * page's host.
   */
  domain: string
  address: Address
  chainId: number
  /** At least 128 random bits, `[A-Za-z0-9]`: 22 characters or more. */
  nonce: string
  issuedAt: number
  requestId: string
}

type MessageLines = Omit<MessageHeader, 'requestId'> & {
  /** absent in the templates of `short-consent.ts` and `approval-message.ts` */
  requestId?: string
  statement: string
  uri: string
  expiresAt: number
  resources?: readonly string[]
}

/**
 * @throws RangeError if a field that the service chose does not fit the grammar: a defect.
 */
export function composeLines(lines: MessageLines): string {
  const address = parseAddress(lines.address)
  // Both SIWE parsers refuse, or warn about, an address that is not in EIP-55 form.
  if (address.kind !== 'address' || address.address !== lines.address) throw new RangeError('address is not in EIP-55 form')

  return [
    // No scheme before the domain: the scheme is optional, and wallets without support for it cannot parse the line.
    `${checkForm('domain', lines.domain, forms.authority)} wants you to sign in with your Ethereum account:`,
    address.address,
    '',
    checkForm('statement', lines.statement, forms.statement),
    '',
    `URI: ${checkForm('uri', lines.uri, forms.uri)}`,
    'Version: 1',
    `Chain ID: ${checkForm('chainId', String(lines.chainId), forms.chainId)}`,
    `Nonce: ${checkForm('nonce', lines.nonce, forms.nonce)}`,
    `Issued At: ${writeTime('issuedAt', lines.issuedAt)}`,
    `Expiration Time: ${writeTime('expiresAt', lines.expiresAt)}`,
    ...(lines.requestId === undefined ? [] : [`Request ID: ${checkForm('requestId', lines.requestId, forms.requestId)}`]),
    ...(lines.resources === undefined ? [] : ['Resources:', ...lines.resources.map(writeResource)]),
  ].join('\n')
}

function writeResource(uri: string): string {
  return `- ${checkForm('resources', uri, forms.uri)}`
}

/**
 * The app as a statement names it: between quotes, which the name cannot contain, so that an app cannot choose a name
 * that reads as part of the service's text. An app whose name has no ASCII form is named by its host alone.
 */
export function writeApp(clientName: string): string {
  const name = transliterateName(clientName)
  return name === '' ? 'the app' : `'${name}'`
}

/**
 * The host. Characters that a statement cannot contain, or that could end the host early, become `_`. No RFC 1123 host
 * name contains `_`, so the result never names another host.
 */
export function writeHost(host: string): string {
  if (host === '') throw new RangeError('clientHost is empty: a text that names no host must not be signed')
  return host.replace(/[^A-Za-z0-9.:[\]-]/gu, '_')
}

/** The day in UTC, as `2026-12-20`. */
export function writeDay(field: string, seconds: number): string {
  return writeTime(field, seconds).slice(0, 10)
}

/** RFC 3339 in UTC, whole seconds. */
export function writeTime(field: string, seconds: number): string {
  // RFC 3339 years have four digits.
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > 253_402_300_799)
    throw new RangeError(`${field} is not a time in epoch seconds`)
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
