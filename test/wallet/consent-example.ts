import * as fc from 'fast-check'
import { redirectUriPlace } from '../../src/oauth/redirect-uri.ts'
import { type ConsentFields, composeConsentMessage, DEVICE_TEMPLATE, WEBSITE_TEMPLATE } from '../../src/wallet/consent-message.ts'
import { isSignableUri } from '../../src/wallet/message-grammar.ts'
import {
  addresses,
  authorities,
  chainIds,
  clientNames,
  drawnFrom,
  nonces,
  privateRedirectUris,
  requestIds,
  resourceUris,
  scopeLists,
  times,
  webRedirectUris,
} from './arbitraries.ts'

export const exampleFields: ConsentFields = {
  template: 2,
  domain: 'login.example.com',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 1,
  clientName: 'MyApp',
  clientHost: 'app.example.net',
  clientId: '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
  redirectUri: 'https://app.example.net/callback',
  scopes: ['enhancement'],
  resources: ['https://api.example.com/'],
  until: 1_797_768_000,
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY7w',
  issuedAt: 1_795_176_000,
  requestId: '7f8c1a52-3f0e-4d6c-9a1b-2e5d8c7b6a90',
}

export const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'

export function composeConsent(changes: Partial<ConsentFields> = {}): string {
  const text = composeConsentMessage({ ...exampleFields, ...changes })
  if (text === null) throw new Error('template unknown')
  return text
}

/** Any consent that can be registered and requested. */
export const anyConsent: fc.Arbitrary<ConsentFields> = fc
  .record({
    isOlder: fc.boolean(),
    domain: authorities,
    address: addresses,
    chainId: chainIds,
    clientName: clientNames,
    clientId: fc.uuid(),
    redirectUri: fc.oneof(webRedirectUris, privateRedirectUris.filter(isSignableUri)),
    scopes: scopeLists.filter((scopes) => scopes.length > 0),
    resources: fc.uniqueArray(resourceUris, { minLength: 1, maxLength: 5 }),
    until: times,
    nonce: nonces,
    issuedAt: times,
    requestId: requestIds,
    keyThumbprint: fc.option(drawnFrom('abcXYZ019-_', 43, 43), { nil: undefined }),
  })
  .map(({ isOlder, ...fields }) => {
    const { clientHost, clientScheme } = redirectUriPlace(fields.redirectUri)
    // An earlier version used template 2 for private-use schemes as well.
    const template = clientScheme === undefined || isOlder ? WEBSITE_TEMPLATE : DEVICE_TEMPLATE
    return { ...fields, template, clientHost: clientScheme ?? clientHost }
  })
