import type { Limit } from '@grantor/protocol/limit'
import * as fc from 'fast-check'
import type { ScopeLimit } from '../../../src/protocol/wallet/limit-words.ts'
import { isSignableUri } from '../../../src/protocol/wallet/message-grammar.ts'
import {
  composeShortConsent,
  SHORT_TEMPLATE,
  type ShortConsentFields,
  shortTemplateOf,
} from '../../../src/protocol/wallet/short-consent.ts'
import {
  addresses,
  authorities,
  chainIds,
  clientNames,
  drawnFrom,
  nonces,
  privateRedirectUris,
  resourceUris,
  scopeLists,
  times,
  webRedirectUris,
} from './arbitraries.ts'
import { anyLimit } from './limit-example.ts'

/** A consent to a website. */
export const shortFields: ShortConsentFields = {
  template: SHORT_TEMPLATE,
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 1,
  clientName: 'MyApp',
  clientId: '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
  redirectUri: 'https://app.example.net/callback',
  scopes: ['enhancement'],
  resources: ['https://api.example.com/'],
  until: 1_797_768_000,
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY',
  issuedAt: 1_795_176_000,
}

export const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'

export const userCode = 'WDJB-MJHT'

/**
 * Characters of the longest names with which four scopes at two resources fit in 1,024 bytes, with a key, in all short templates
 * (docs/decisions/0008-texts-to-sign.md). `scopes` is for all four.
 */
export const longestOrdinary = { domain: 26, name: 16, host: 24, redirectUri: 48, scopes: 36, resource: 28, chainId: 999_999 }

export function composeShort(changes: Partial<ShortConsentFields> = {}): string {
  const text = composeShortConsent({ ...shortFields, ...changes })
  if (text === null) throw new Error('not these fields')
  return text
}

const unregistered = fc.oneof(
  fc.domain().map((host) => `https://${host}/client.json`),
  drawnFrom('abcXYZ019-_', 43, 43).map((hash) => `ni:///sha-256;${hash}`),
)

/** Of registered apps, and of apps that no operator registered. */
export const clientIds = fc.oneof(fc.uuid(), unregistered)

/** Any consent that can be registered and requested. */
export const anyShortConsent: fc.Arbitrary<ShortConsentFields> = fc
  .record({
    domain: authorities,
    address: addresses,
    chainId: chainIds,
    clientName: clientNames,
    clientId: clientIds,
    redirectUri: fc.option(fc.oneof(webRedirectUris, privateRedirectUris.filter(isSignableUri)), { nil: undefined }),
    scopes: scopeLists.filter((scopes) => scopes.length > 0),
    resources: fc.uniqueArray(resourceUris, { minLength: 1, maxLength: 5 }),
    isByResource: fc.boolean(),
    until: times,
    nonce: nonces,
    issuedAt: times,
    keyThumbprint: fc.option(drawnFrom('abcXYZ019-_', 43, 43), { nil: undefined }),
    code: fc.option(fc.constant(userCode), { nil: undefined }),
    limited: fc.option(fc.record({ limit: anyLimit, resource: fc.nat(), scope: fc.nat() }), { nil: undefined }),
  })
  .map(({ code, isByResource, limited, ...fields }) => {
    const { scopes, resources, redirectUri } = fields
    // Each resource lacks another scope, if there are enough.
    const without = (lacking: number) => scopes.filter((_, i) => scopes.length === 1 || i !== lacking % scopes.length)
    const every = Object.fromEntries(resources.map((uri, i) => [uri, isByResource ? without(i) : scopes]))
    const limit = limited && limitIn(every, limited)
    const pairs = limit ? onlyAt(every, limit) : every
    const parties = { redirectUri, userCode: code ?? (redirectUri === undefined ? userCode : undefined), limit }
    const isUneven = isByResource || limit !== undefined
    const all = isUneven ? [...new Set(Object.values(pairs).flat())] : scopes
    const own = { resources: Object.keys(pairs), scopes: all, scopesByResource: isUneven ? pairs : undefined }
    return { ...fields, ...parties, template: shortTemplateOf(parties) ?? 0, ...own }
  })

type Pairs = Record<string, string[]>

function limitIn(pairs: Pairs, { limit, resource, scope }: { limit: Limit; resource: number; scope: number }): ScopeLimit {
  const [uri = '', scopes = []] = Object.entries(pairs)[resource % Object.keys(pairs).length] ?? []
  return { resource: uri, scope: scopes[scope % scopes.length] ?? '', limit }
}

/** Only the resource of the limit has its scope. A resource that has no other scope is left out. */
function onlyAt(pairs: Pairs, { resource, scope }: ScopeLimit): Pairs {
  const kept = Object.entries(pairs).map(([uri, own]) => [uri, own.filter((each) => uri === resource || each !== scope)] as const)
  return Object.fromEntries(kept.filter(([, own]) => own.length > 0))
}
