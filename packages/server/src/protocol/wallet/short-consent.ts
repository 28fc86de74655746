/**
 * The texts with which a wallet signs in and consents at once (ERC-4361 with an ERC-5573 ReCap). They are short, because some hardware
 * wallets sign at most 1,024 bytes (docs/decisions/0008-texts-to-sign.md). Template 10 is for every kind of app. Template 11 gives access to a
 * device (RFC 8628). Template 12 gives access to a browser on another screen. Both name the code that the device or the other screen shows.
 * Templates 14, 15 and 16 are these three with the limit of one scope.
 *
 * The signed text is kept as a receipt, so it contains everything that was agreed: the app, the scopes, the resources and the end (OpenID
 * Connect Core §16.18). A text names each party once, names the client and its key in one URI, and writes the scopes of a resource as one
 * ability. In the templates with a code, the authorized party (`URI`) is the client itself.
 */

import { hostOf, isOnThisDevice, privateUseScheme, publisherOf } from './app-place.ts'
import { writeClient, writeParty } from './client-words.ts'
import { LIMIT_SENTENCE_FORM, type ScopeLimit, writeLimitSentence } from './limit-words.ts'
import { checkForm, forms } from './message-grammar.ts'
import { composeLines, type MessageHeader, writeDay, writeHost } from './message-lines.ts'
import { encodeRecap, translateRecap } from './recap.ts'

/**
 * A template is never edited. A new template gets the next free number, and an old one is kept as long as receipts of it exist. Numbers
 * below 10 that `account-message.ts` does not have belonged to texts that no release contained.
 */
export const SHORT_TEMPLATE = 10
export const SHORT_DEVICE_TEMPLATE = 11
export const TWO_SCREENS_TEMPLATE = 12
export const SHORT_LIMIT_TEMPLATE = 14
export const DEVICE_LIMIT_TEMPLATE = 15
export const TWO_SCREENS_LIMIT_TEMPLATE = 16

/** The fields of the text. Times in epoch seconds. */
export type ShortConsentFields = Omit<MessageHeader, 'requestId'> & {
  /** Number of the template, from the challenge. */
  template: number
  /** As registered, any Unicode. */
  clientName: string
  /** A UUID; for an app that no operator registered, the URL of the app's metadata document, or the hash (RFC 6920) of a registration that the app made itself. */
  clientId: string
  /** Absent for a device: the redirect URI of the request. With a code, the text names only its host or scheme. */
  redirectUri?: string | undefined
  /** For a device or another screen: the code as the device, or the other screen, shows it: `WDJB-MJHT`. */
  userCode?: string | undefined
  /** At least one; each `[A-Za-z0-9._-]{1,64}`. Order does not matter. */
  scopes: readonly string[]
  /** At least one; each an absolute URI without quotes and percent signs. Order does not matter. */
  resources: readonly string[]
  /** The scopes of each resource, if they differ. */
  scopesByResource?: Readonly<Record<string, readonly string[]>> | undefined
  /** The limit of one of the scopes, which only the resource of the limit has in this text: people read it without a resource. */
  limit?: ScopeLimit | undefined
  /** End of the grant. */
  until: number
  /** RFC 7638 thumbprint of the key that the tokens are bound to (RFC 9449), base64url of SHA-256. */
  keyThumbprint?: string | undefined
}

/**
 * Composes the text. The same fields always give the same bytes.
 *
 * @returns null if this version does not have the template, or if the template is not for these fields: the caller responds with 410,
 * never with "wrong signature".
 * @throws RangeError if a field does not fit the grammar: a defect, because registration refuses values that the text cannot contain.
 */
export function composeShortConsent(fields: ShortConsentFields): string | null {
  if (fields.template !== shortTemplateOf(fields)) return null
  checkLimitedScope(fields)
  const party = writeParty(fields.clientId, fields.keyThumbprint)
  const capability = { ...fields, abilities: 'joined' } as const
  const { domain, address, chainId, nonce, issuedAt, until, redirectUri = '' } = fields
  const isToApp = fields.userCode === undefined
  return composeLines({
    domain,
    address,
    chainId,
    nonce,
    issuedAt,
    expiresAt: until,
    statement: `${writePlainWords(fields)} ${translateRecap(capability)}`,
    uri: isToApp ? redirectUri : party,
    resources: [...(isToApp ? [party] : []), encodeRecap(capability)],
  })
}

/** The template that has exactly these fields; undefined if none has. */
export function shortTemplateOf({
  redirectUri,
  userCode,
  limit,
}: Pick<ShortConsentFields, 'redirectUri' | 'userCode' | 'limit'>): number | undefined {
  const withoutLimit = limit === undefined
  if (userCode === undefined) {
    if (redirectUri === undefined) return undefined
    return withoutLimit ? SHORT_TEMPLATE : SHORT_LIMIT_TEMPLATE
  }
  if (redirectUri === undefined) return withoutLimit ? SHORT_DEVICE_TEMPLATE : DEVICE_LIMIT_TEMPLATE
  return withoutLimit ? TWO_SCREENS_TEMPLATE : TWO_SCREENS_LIMIT_TEMPLATE
}

/** The sentence about the limit names no resource, so a reader would take the limit for that of every resource with this scope. */
function checkLimitedScope({ limit, scopes, resources, scopesByResource }: ShortConsentFields): void {
  if (limit === undefined) return
  const having = new Set(resources.filter((uri) => (scopesByResource?.[uri] ?? scopes).includes(limit.scope)))
  if (having.size !== 1 || !having.has(limit.resource)) throw new RangeError('limit is not of a scope of exactly one resource')
}

/** Names the app, its host or scheme, the end, and who gets the access, and states that signing transfers nothing. */
function writePlainWords(fields: ShortConsentFields): string {
  const { until, userCode, redirectUri, limit } = fields
  const reader = redirectUri === undefined ? 'device' : 'browser'
  return [
    `Allow ${writeClient(fields)} until ${writeDay('until', until)}.`,
    ...(limit === undefined ? [] : [writeLimitSentence(limit)]),
    ...(userCode === undefined
      ? []
      : [`Gives access to the ${reader} that shows the code ${checkForm('userCode', userCode, forms.userCode)}.`]),
    ...(publisherOf(fields.clientId) === null || redirectUri === undefined
      ? []
      : [`Answers go to ${writeDestination(redirectUri, userCode)}.`]),
    'No gas, no transfer.',
  ].join(' ')
}

function writeDestination(redirectUri: string, userCode: string | undefined): string {
  const scheme = privateUseScheme(redirectUri)
  if (scheme !== null) return `an app that opens ${scheme}: links`
  if (!isOnThisDevice(redirectUri)) return writeHost(hostOf(redirectUri))
  return userCode === undefined ? 'a program on this device' : PROGRAM_ELSEWHERE
}

const PROGRAM_ELSEWHERE = 'a program on that device'
/** In a text that was read: the redirect URI of a program whose address the text does not name. */
export const SOME_PROGRAM = 'http://127.0.0.1/'

/** A redirect URI with which templates 12 and 16 have these words for the app's place. The text does not contain the redirect URI of its request. */
export function redirectUriFor(words: string): string {
  const scheme = /^an app that opens (.*): links$/.exec(words)?.[1]
  if (scheme !== undefined) return `${scheme}:/`
  if (words === PROGRAM_ELSEWHERE) return SOME_PROGRAM
  // A host never ends with the default port of its scheme.
  return `${words.endsWith(':443') ? 'http' : 'https'}://${words}/`
}

const line = '[^\\n]*'
const word = '[^ \\n]*'
/** A pattern that matches every text of these templates; `read-consent.ts` composes the text again and compares. */
export const SHORT_CONSENT_FORM = `^${[
  `(?<domain>${line}) wants you to sign in with your Ethereum account:`,
  `(?<address>${line})`,
  '',
  `Allow (?:(?:the app of ${word}|an app that registered itself)(?: \\(calls itself '(?<ownName>[^'\\n]*)'\\))?|the app with the id ${word}|(?:'(?<clientName>[^'\\n]*)'|the app)(?: at (?<host>${word})| \\((?<opener>an app that opens ${word}: links)\\))?) until ${word}\\.(?: ${LIMIT_SENTENCE_FORM})?(?: Gives access to the (?<shownBy>device|browser) that shows the code (?<userCode>${word})\\.)?(?: Answers go to (?<destination>a program on th(?:is|at) device|an app that opens ${word}: links|${word})\\.)? No gas, no transfer\\. I further authorize the stated URI to perform the following actions on my behalf: (?<entries>${line})`,
  '',
  `URI: (?<uri>${line})`,
  'Version: 1',
  `Chain ID: (?<chainId>${line})`,
  `Nonce: (?<nonce>${line})`,
  `Issued At: (?<issuedAt>${line})`,
  `Expiration Time: (?<until>${line})`,
  'Resources:',
  `(?:- (?<party>(?!urn:recap:)${line})\\n)?- urn:recap:${line}`,
].join('\\n')}$`
