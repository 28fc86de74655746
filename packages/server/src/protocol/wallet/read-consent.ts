/**
 * Reads the fields of a signed consent (templates 10 to 12 and 14 to 16), for receipts.
 *
 * A text is not trusted because it can be parsed: the text is composed again from the fields that were read and must
 * have exactly the same bytes. A text can therefore be read in one way only, its sentence and its ReCap agree, and no
 * part of the text is left unread.
 */

import { type Address, parseAddress } from './address.ts'
import { hostOf, privateUseScheme } from './app-place.ts'
import { readParty } from './client-words.ts'
import { composeAgain, LONGEST_TEXT, withoutRecap } from './compose-again.ts'
import { readLimit, type ScopeLimit } from './limit-words.ts'
import {
  composeShortConsent,
  redirectUriFor,
  SHORT_CONSENT_FORM,
  type ShortConsentFields,
  SOME_PROGRAM,
  shortTemplateOf,
} from './short-consent.ts'

/** What the wallet's owner agreed to. Times in epoch seconds; every text is printable ASCII. */
export type Consent = {
  /** Authority of the login page that requested the signature. */
  domain: string
  /** EIP-55 */
  address: Address
  chainId: number
  /** As the text writes it; '' if the text names the app by its host alone. */
  clientName: string
  /** Host, and port if any, of the redirect URI, or its private-use scheme; '' if the text names neither. */
  clientHost: string
  /** The scheme, if the text names a private-use scheme. */
  clientScheme: string | null
  clientId: string
  /** '' if the access goes to a device, or to a browser on another screen. */
  redirectUri: string
  /** The code that a device (RFC 8628) or a browser on another screen showed, to which the access goes. */
  userCode?: string
  shownBy?: 'device' | 'browser'
  grants: { resource: string; scopes: string[] }[]
  /** The limit of one of the scopes, if the text names one. */
  limit?: ScopeLimit
  until: number
  issuedAt: number
  nonce: string
  /** The key that the tokens are bound to (RFC 9449), if the text names one. */
  keyThumbprint?: string
}

/** The consent in the text; null if the text is not, byte for byte, a consent that this service composes. Never throws. */
export function readConsent(message: string): Consent | null {
  const read = readText(message)
  return read !== null && composeAgain(() => composeShortConsent(read)) === message ? toConsent(read) : null
}

/**
 * Whether the text is a consent except for its ReCap: the sentence and the ReCap then differ, and a reader of one would
 * be deceived about the other. Used to explain why a text was refused.
 */
export function recapContradicts(message: string): boolean {
  const read = readText(message)
  const again = read === null ? null : composeAgain(() => composeShortConsent(read))
  return again !== null && again !== message && withoutRecap(again) === withoutRecap(message)
}

const textForm = new RegExp(SHORT_CONSENT_FORM)

type Groups = Readonly<Record<string, string | undefined>>
type Grants = readonly (readonly [resource: string, scopes: string[]])[]

/** Parses loosely: `readConsent` composes the text again and compares. */
function readText(message: string): ShortConsentFields | null {
  if (typeof message !== 'string' || message.length > LONGEST_TEXT) return null
  const groups: Groups = textForm.exec(message)?.groups ?? {}
  const { domain = '', nonce = '', clientName = groups.ownName ?? '', entries = '', userCode } = groups
  const address = parseAddress(groups.address ?? '')
  if (address.kind !== 'address') return null
  const grants: Grants = [...entries.matchAll(/'oauth': '([^:]*)' for '([^']*)'\./g)].map(
    ([, scopes = '', resource = '']) => [resource, scopes.split(/\+|', '/).sort()] as const,
  )
  const isSame = grants.every(([, scopes]) => String(scopes) === String(grants[0]?.[1]))
  const parties = readParties(groups)
  const limited = readLimit(groups)
  const resource = grants.find(([, scopes]) => limited !== undefined && scopes.includes(limited.scope))?.[0]
  const limit = limited && { resource: resource ?? '', ...limited }
  return {
    template: shortTemplateOf({ ...parties, userCode, limit }) ?? 0,
    address: address.address,
    chainId: Number(groups.chainId),
    domain,
    nonce,
    clientName,
    ...parties,
    scopes: [...new Set(grants.flatMap(([, scopes]) => scopes))],
    resources: grants.map(([resource]) => resource),
    scopesByResource: isSame ? undefined : Object.fromEntries(grants),
    limit,
    issuedAt: Date.parse(groups.issuedAt ?? '') / 1000,
    until: Date.parse(groups.until ?? '') / 1000,
    userCode,
  }
}

type Parties = Pick<ShortConsentFields, 'clientId' | 'redirectUri' | 'keyThumbprint'>

function readParties({ uri = '', party, shownBy, host, opener, destination = opener ?? host }: Groups): Parties {
  const redirectUri = shownBy === undefined ? uri : shownBy === 'browser' ? redirectUriFor(destination ?? '') : undefined
  return { ...readParty(party ?? uri), redirectUri }
}

function toConsent(fields: ShortConsentFields): Consent {
  const { template: _, scopes, resources, scopesByResource, redirectUri = '', keyThumbprint, userCode, limit, ...same } = fields
  const grants = resources.map((resource) => ({ resource, scopes: [...(scopesByResource?.[resource] ?? scopes)] }))
  const isForBrowser = userCode !== undefined && redirectUri !== ''
  const place = isForBrowser && redirectUri === SOME_PROGRAM ? '' : redirectUri
  return {
    ...same,
    redirectUri: isForBrowser ? '' : redirectUri,
    clientHost: hostOf(place),
    clientScheme: place === '' ? null : privateUseScheme(place),
    grants,
    ...(limit === undefined ? {} : { limit }),
    ...(userCode === undefined ? {} : { userCode, shownBy: isForBrowser ? 'browser' : 'device' }),
    ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
  }
}
