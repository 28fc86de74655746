/**
 * Reads the fields of a signed consent (templates 2, 5, 6, 7 and 9), for receipts.
 *
 * A text is not trusted because it can be parsed: the text is composed again from the fields that were read and must
 * have exactly the same bytes. A text can therefore be read in one way only, its sentence and its ReCap agree, and no
 * part of the text is left unread.
 */

import { type Address, parseAddress } from './address.ts'
import {
  type ConsentFields,
  composeConsentMessage,
  DEVICE_TEMPLATE,
  hostOf,
  METADATA_TEMPLATE,
  SCOPES_BY_RESOURCE_TEMPLATE,
  WEBSITE_TEMPLATE,
} from './consent-message.ts'
import { composeDeviceConsent, DEVICE_CONSENT_FORM, DEVICE_GRANT_TEMPLATE } from './device-consent.ts'

/** What the wallet's owner agreed to. Times in epoch seconds; every text is printable ASCII. */
export type Consent = {
  /** Authority of the login page that requested the signature. */
  domain: string
  /** EIP-55 */
  address: Address
  chainId: number
  /** As the text writes it; '' if the text names the app by its host alone. */
  clientName: string
  /** Host, and port if any, of the redirect URI, or its private-use scheme; '' if the access goes to a device. */
  clientHost: string
  clientId: string
  /** '' if the access goes to a device. */
  redirectUri: string
  /** The code that the device showed, if the access goes to a device (RFC 8628). */
  userCode?: string
  grants: { resource: string; scopes: string[] }[]
  until: number
  issuedAt: number
  nonce: string
  requestId: string
  /** The key that the tokens are bound to (RFC 9449), if the text names one. */
  keyThumbprint?: string
}

/** Longer than any text that the service composes; bounds the work on other texts. */
const longestText = 200_000

/** The consent in the text; null if the text is not, byte for byte, a consent that this service composes. Never throws. */
export function readConsent(message: string): Consent | null {
  const read = readText(message)
  return read !== null && composeAgain(read) === message ? toConsent(read.fields) : null
}

/**
 * Whether the text is a consent except for its ReCap: the sentence and the ReCap then differ, and a reader of one would
 * be deceived about the other. Used to explain why a text was refused.
 */
export function recapContradicts(message: string): boolean {
  const read = readText(message)
  const again = read === null ? null : composeAgain(read)
  return again !== null && again !== message && withoutRecap(again) === withoutRecap(message)
}

function withoutRecap(message: string): string {
  return message.replace(/\n- urn:recap:[A-Za-z0-9_-]+$/, '')
}

const line = '[^\\n]*'
const word = '[^ \\n]*'
const textForm = new RegExp(
  `^${[
    `(?<domain>${line}) wants you to sign in with your Ethereum account:`,
    `(?<address>${line})`,
    '',
    `Allow (?:(?:the app of ${word}|an app that registered itself)(?: \\(it calls itself '(?<ownName>[^'\\n]*)'\\))?|(?:'(?<clientName>[^'\\n]*)'|the app) (?:at ${word}|(?<device>\\(an app on this device that opens ${word} links\\)))) to do only what follows, until ${word} \\(UTC\\)\\.(?: The answer goes to (?:${word}|a program on this device|an app on this device that opens ${word} links)\\.)? Signing costs no gas and makes no transfer\\. I further authorize the stated URI to perform the following actions on my behalf: (?<entries>${line})`,
    '',
    `URI: (?<redirectUri>${line})`,
    'Version: 1',
    `Chain ID: (?<chainId>${line})`,
    `Nonce: (?<nonce>${line})`,
    `Issued At: (?<issuedAt>${line})`,
    `Expiration Time: (?<until>${line})`,
    `Request ID: (?<requestId>${line})`,
    'Resources:',
    `- ${line}`,
    `- (?:urn:uuid:(?<clientId>${line})|(?<clientUrl>(?:https?|ni)://${line}))`,
    `(?:- urn:ietf:params:oauth:jwk-thumbprint:sha-256:(?<keyThumbprint>${line})\\n)?- urn:recap:${line}`,
  ].join('\\n')}$`,
)

const deviceForm = new RegExp(DEVICE_CONSENT_FORM)

type Fields = Omit<ConsentFields, 'template'> & { userCode?: string | undefined }
type ReadText = { template: number; fields: Fields }

/** Parses loosely: `readConsent` composes the text again and compares. */
function readText(message: string): ReadText | null {
  if (typeof message !== 'string' || message.length > longestText) return null
  const {
    clientName,
    ownName,
    redirectUri = '',
    entries = '',
    keyThumbprint,
    device,
    userCode,
    ...fieldTexts
  } = textForm.exec(message)?.groups ?? deviceForm.exec(message)?.groups ?? {}
  const address = parseAddress(fieldTexts.address ?? '')
  if (address.kind !== 'address') return null
  const grants = [...entries.matchAll(/'oauth': '([^:]*)' for '([^']*)'\./g)].map(
    ([, scopes = '', resource = '']) => [resource, scopes.split("', '")] as const,
  )
  const { domain = '', nonce = '', requestId = '', clientId = '', clientUrl } = fieldTexts
  const fields = {
    address: address.address,
    chainId: Number(fieldTexts.chainId),
    domain,
    nonce,
    requestId,
    clientId: clientUrl ?? clientId,
    redirectUri,
    clientName: clientName ?? ownName ?? '',
    // Derived from the redirect URI: if the statement names another host, the composed text differs.
    clientHost: hostOf(redirectUri),
    scopes: [...new Set(grants.flatMap(([, scopes]) => scopes))],
    resources: grants.map(([resource]) => resource),
    issuedAt: Date.parse(fieldTexts.issuedAt ?? '') / 1000,
    until: Date.parse(fieldTexts.until ?? '') / 1000,
    keyThumbprint,
    userCode,
  }
  if (userCode !== undefined) return { template: DEVICE_GRANT_TEMPLATE, fields }
  const [first] = grants
  if (first && grants.some(([, scopes]) => String(scopes) !== String(first[1])))
    return { template: SCOPES_BY_RESOURCE_TEMPLATE, fields: { ...fields, scopesByResource: Object.fromEntries(grants) } }
  if (clientUrl !== undefined) return { template: METADATA_TEMPLATE, fields }
  return { template: device === undefined ? WEBSITE_TEMPLATE : DEVICE_TEMPLATE, fields }
}

function composeAgain({ template, fields }: ReadText): string | null {
  try {
    const { userCode } = fields
    if (userCode !== undefined) return composeDeviceConsent({ ...fields, template, userCode })
    return composeConsentMessage({ ...fields, template })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function toConsent({ scopes, resources, scopesByResource, keyThumbprint, userCode, ...same }: Fields): Consent {
  const grants = resources.map((resource) => ({ resource, scopes: [...(scopesByResource?.[resource] ?? scopes)] }))
  return {
    ...same,
    grants,
    ...(userCode === undefined ? {} : { userCode }),
    ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
  }
}
