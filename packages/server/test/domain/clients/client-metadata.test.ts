/** Metadata documents of clients that are not registered: what is accepted, and what is refused as a whole. */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readClientMetadata } from '../../../src/domain/clients/client-metadata.ts'

const CLIENT_ID = 'https://agent.example/oauth/client.json'
const GOOD = {
  client_id: CLIENT_ID,
  client_name: 'Agent Tools',
  redirect_uris: ['http://127.0.0.1/callback', 'https://agent.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
const publicJwk = (type: 'ec' | 'rsa'): Record<string, unknown> => {
  const pair =
    type === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return pair.publicKey.export({ format: 'jwk' })
}
const EC = { ...publicJwk('ec'), kid: 'a' }
const RSA = { ...publicJwk('rsa'), kid: 'b' }
const WITH_KEY = { ...GOOD, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [EC] } }

const read = (document: unknown) => readClientMetadata(CLIENT_ID, JSON.stringify(document))

/** The shapes that widely used MCP clients publish, with hosts of examples. */
describe('An accepted document', () => {
  test('A command-line agent with localhost and 127.0.0.1 redirect URIs is a client without a secret', () => {
    const document = { ...GOOD, redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'] }
    expect(read(document)).toMatchObject({
      authMethod: 'none',
      type: 'native',
      grantTypes: ['authorization_code', 'refresh_token'],
    })
  })

  test('A web app that authenticates with an RS256 key is a confidential client', () => {
    const document = { ...GOOD, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ ...RSA, alg: 'RS256' }] } }
    expect(read(document)).toMatchObject({ authMethod: 'private_key_jwt', type: 'confidential', jwksUri: null })
  })

  test('Of several supported methods, the one with a key is chosen if the document has keys, and `none` otherwise', () => {
    const methods = { token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] }
    expect(read({ ...GOOD, ...methods })).toMatchObject({ authMethod: 'none', jwks: null })
    expect(read({ ...GOOD, ...methods, jwks_uri: 'https://agent.example/jwks.json' })).toMatchObject({
      authMethod: 'private_key_jwt',
      jwksUri: 'https://agent.example/jwks.json',
    })
  })

  test('A client that declares `none` as its one method is a public client, even if it has keys and supports more (RFC 7591 §2)', () => {
    const declared = { token_endpoint_auth_method: 'none', token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] }
    const document = { ...GOOD, ...declared, jwks_uri: 'https://agent.example/jwks.json' }
    expect(read(document)).toMatchObject({ authMethod: 'none', jwksUri: null })
  })

  test('An editor with a private-use scheme and unknown members is accepted, and grant types of other servers are left out', () => {
    const document = {
      ...GOOD,
      redirect_uris: ['com.example.editor:/oauth/callback'],
      grant_types: ['authorization_code', 'urn:example:other'],
      logo_uri: 'https://agent.example/logo.png',
      application_type: 'native',
      x_unknown: { nested: true },
    }
    expect(read(document)).toMatchObject({ grantTypes: ['authorization_code'] })
  })

  test('A document with only the required members has no name, no refresh tokens and no authentication (RFC 7591 §2)', () => {
    const { client_id, redirect_uris } = GOOD
    expect(read({ client_id, redirect_uris })).toEqual({
      name: '',
      type: 'native',
      redirectUris: redirect_uris,
      authMethod: 'none',
      grantTypes: ['authorization_code'],
      jwks: null,
      jwksUri: null,
      idTokenAlgorithm: 'ES256',
      authorizationAlgorithm: 'ES256',
      dpopBound: false,
      requirePushedRequests: false,
      requestObjectSigned: false,
    })
  })

  test('A document can name the algorithm of its ID tokens, and limit its client to bound tokens and pushed requests (RFC 7591 §2)', () => {
    const limits = { dpop_bound_access_tokens: true, require_pushed_authorization_requests: true }
    expect(read({ ...GOOD, ...limits, subject_type: 'public', id_token_signed_response_alg: 'RS256' })).toMatchObject({
      idTokenAlgorithm: 'RS256',
      dpopBound: true,
      requirePushedRequests: true,
      requestObjectSigned: false,
    })
    expect(read({ ...WITH_KEY, require_signed_request_object: true })).toMatchObject({ requestObjectSigned: true })
  })

  test('A name may contain the host of the client id', () => {
    expect(read({ ...GOOD, client_name: 'agent.example for desktop' })).toMatchObject({ name: 'agent.example for desktop' })
  })
})

const without = (member: keyof typeof GOOD) => Object.fromEntries(Object.entries(GOOD).filter(([name]) => name !== member))
const HOSTILE: [what: string, document: unknown, fault: string][] = [
  ['a list', [GOOD], 'metadata_not_json'],
  ['a text', 'client', 'metadata_not_json'],
  ['null', null, 'metadata_not_json'],
  ['no client_id', without('client_id'), 'metadata_client_id_differs'],
  ['a client_id with one more slash', { ...GOOD, client_id: `${CLIENT_ID}/` }, 'metadata_client_id_differs'],
  ['a client_id in upper case', { ...GOOD, client_id: CLIENT_ID.toUpperCase() }, 'metadata_client_id_differs'],
  [
    'a client_id with the default port',
    { ...GOOD, client_id: 'https://agent.example:443/oauth/client.json' },
    'metadata_client_id_differs',
  ],
  ['a client_id of another host', { ...GOOD, client_id: 'https://bank.example/oauth/client.json' }, 'metadata_client_id_differs'],
  ['a client_id in a list', { ...GOOD, client_id: [CLIENT_ID] }, 'metadata_client_id_differs'],
  ['a client secret', { ...GOOD, client_secret: 'not-a-secret' }, 'metadata_has_secret'],
  ['the expiry of a client secret', { ...GOOD, client_secret_expires_at: 0 }, 'metadata_has_secret'],
  ['an empty name', { ...GOOD, client_name: '' }, 'metadata_name'],
  ['a name of spaces', { ...GOOD, client_name: '   ' }, 'metadata_name'],
  ['a name of 81 characters', { ...GOOD, client_name: 'a'.repeat(81) }, 'metadata_name'],
  ['a name that is a number', { ...GOOD, client_name: 7 }, 'metadata_name'],
  ['a name with a right-to-left override', { ...GOOD, client_name: 'Agent\u202eelpmaxe' }, 'metadata_name'],
  ['a name with an isolate', { ...GOOD, client_name: 'Agent\u2066x\u2069' }, 'metadata_name'],
  ['a name with a zero-width space', { ...GOOD, client_name: 'Ag\u200bent' }, 'metadata_name'],
  ['a name with a line break', { ...GOOD, client_name: 'Agent\nTools' }, 'metadata_name'],
  ['a name of invisible letters', { ...GOOD, client_name: '\u3164\u3164' }, 'metadata_name'],
  ['the name of another host', { ...GOOD, client_name: 'bank.example' }, 'metadata_name'],
  ['another host within a name', { ...GOOD, client_name: 'Agent by bank.example, verified' }, 'metadata_name'],
  ['the address of another host', { ...GOOD, client_name: 'https://bank.example/login' }, 'metadata_name'],
  ['another host in full-width letters', { ...GOOD, client_name: 'ｂａｎｋ．ｅｘａｍｐｌｅ' }, 'metadata_name'],
  ['another host with a dot of another script', { ...GOOD, client_name: 'bank。example' }, 'metadata_name'],
  ['a host that ends with the own host without a dot', { ...GOOD, client_name: 'evilagent.example' }, 'metadata_name'],
  ['no redirect_uris', without('redirect_uris'), 'metadata_redirect_uris'],
  ['an empty list of redirect_uris', { ...GOOD, redirect_uris: [] }, 'metadata_redirect_uris'],
  ['redirect_uris that is a text', { ...GOOD, redirect_uris: 'https://agent.example/callback' }, 'metadata_redirect_uris'],
  [
    '21 redirect URIs',
    { ...GOOD, redirect_uris: Array.from({ length: 21 }, (_, n) => `https://agent.example/${n}`) },
    'metadata_redirect_uris',
  ],
  ['a redirect URI that is a number', { ...GOOD, redirect_uris: [7] }, 'metadata_redirect_uris'],
  ['a redirect URI over http', { ...GOOD, redirect_uris: ['http://agent.example/callback'] }, 'metadata_redirect_uris'],
  ['a redirect URI in a private network', { ...GOOD, redirect_uris: ['http://192.168.0.1/callback'] }, 'metadata_redirect_uris'],
  ['a javascript redirect URI', { ...GOOD, redirect_uris: ['javascript:alert(1)'] }, 'metadata_redirect_uris'],
  ['a data redirect URI', { ...GOOD, redirect_uris: ['data:text/html,x'] }, 'metadata_redirect_uris'],
  ['a redirect URI with a fragment', { ...GOOD, redirect_uris: ['https://agent.example/#x'] }, 'metadata_redirect_uris'],
  [
    'a redirect URI with a user name',
    { ...GOOD, redirect_uris: ['https://bank.example@agent.example/'] },
    'metadata_redirect_uris',
  ],
  ['a redirect URI with a wildcard', { ...GOOD, redirect_uris: ['https://*.agent.example/'] }, 'metadata_redirect_uris'],
  ['a redirect URI with a code', { ...GOOD, redirect_uris: ['https://agent.example/?code=1'] }, 'metadata_redirect_uris'],
  [
    'a redirect URI of 2,001 characters',
    { ...GOOD, redirect_uris: [`https://agent.example/${'a'.repeat(1979)}`] },
    'metadata_redirect_uris',
  ],
  ['a redirect URI with a line break', { ...GOOD, redirect_uris: ['https://agent.example/\nx'] }, 'metadata_redirect_uris'],
  [
    'one bad redirect URI among good ones',
    { ...GOOD, redirect_uris: [...GOOD.redirect_uris, 'ftp://agent.example/'] },
    'metadata_redirect_uris',
  ],
  ['grant types without the code grant', { ...GOOD, grant_types: ['client_credentials'] }, 'metadata_grant_types'],
  ['the implicit grant alone', { ...GOOD, grant_types: ['implicit'] }, 'metadata_grant_types'],
  ['no grant type', { ...GOOD, grant_types: [] }, 'metadata_grant_types'],
  ['grant types that are a text', { ...GOOD, grant_types: 'authorization_code' }, 'metadata_grant_types'],
  ['101 grant types', { ...GOOD, grant_types: Array(101).fill('authorization_code') }, 'metadata_grant_types'],
  ['response types without `code`', { ...GOOD, response_types: ['token'] }, 'metadata_grant_types'],
  ['jwks and jwks_uri', { ...WITH_KEY, jwks_uri: 'https://agent.example/jwks' }, 'metadata_keys'],
  ['a private key', { ...WITH_KEY, jwks: { keys: [{ ...EC, d: 'AAAA' }] } }, 'metadata_keys'],
  ['a symmetric key', { ...WITH_KEY, jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, 'metadata_keys'],
  ['a key for HS256', { ...WITH_KEY, jwks: { keys: [{ ...EC, alg: 'HS256' }] } }, 'metadata_keys'],
  ['a key for no algorithm', { ...WITH_KEY, jwks: { keys: [{ ...EC, alg: 'none' }] } }, 'metadata_keys'],
  ['an EC key for RS256', { ...WITH_KEY, jwks: { keys: [{ ...EC, alg: 'RS256' }] } }, 'metadata_keys'],
  ['an RSA key with exponent 1', { ...WITH_KEY, jwks: { keys: [{ ...RSA, e: 'AQ' }] } }, 'metadata_keys'],
  ['no key in the set', { ...WITH_KEY, jwks: { keys: [] } }, 'metadata_keys'],
  [
    '21 keys',
    { ...WITH_KEY, jwks: { keys: Array.from({ length: 21 }, (_, n) => ({ ...EC, kid: String(n) })) } },
    'metadata_keys',
  ],
  ['two keys of one kid', { ...WITH_KEY, jwks: { keys: [EC, EC] } }, 'metadata_keys'],
  ['a jwks that is a list', { ...WITH_KEY, jwks: [EC] }, 'metadata_keys'],
  ['a jwks_uri over http', { ...GOOD, jwks_uri: 'http://agent.example/jwks' }, 'metadata_keys'],
  ['a jwks_uri with a user name', { ...GOOD, jwks_uri: 'https://a@agent.example/jwks' }, 'metadata_keys'],
  ['a jwks_uri that is a file', { ...GOOD, jwks_uri: 'file:///etc/passwd' }, 'metadata_keys'],
  ['pairwise subjects', { ...GOOD, subject_type: 'pairwise' }, 'metadata_values'],
  ['an unsigned ID token', { ...GOOD, id_token_signed_response_alg: 'none' }, 'metadata_values'],
  ['an algorithm that is a list', { ...GOOD, id_token_signed_response_alg: ['ES256'] }, 'metadata_values'],
  ['a flag that is a number', { ...GOOD, require_pushed_authorization_requests: 1 }, 'metadata_values'],
  ['signed requests without a key', { ...GOOD, require_signed_request_object: true }, 'metadata_values'],
  ['tokens bound to a certificate', { ...GOOD, tls_client_certificate_bound_access_tokens: true }, 'metadata_values'],
  ['client_secret_basic', { ...GOOD, token_endpoint_auth_method: 'client_secret_basic' }, 'metadata_auth_method'],
  ['client_secret_post', { ...GOOD, token_endpoint_auth_method: 'client_secret_post' }, 'metadata_auth_method'],
  ['client_secret_jwt', { ...GOOD, token_endpoint_auth_method: 'client_secret_jwt' }, 'metadata_auth_method'],
  ['private_key_jwt without a key', { ...GOOD, token_endpoint_auth_method: 'private_key_jwt' }, 'metadata_auth_method'],
  ['tls_client_auth', { ...GOOD, token_endpoint_auth_method: 'tls_client_auth' }, 'metadata_auth_method'],
  ['a method that is a list', { ...GOOD, token_endpoint_auth_method: ['none'] }, 'metadata_auth_method'],
]

test.each(HOSTILE)('A document with a fault is refused as a whole: %s', (_, document, fault) => {
  expect(read(document)).toBe(fault)
})

test('Text that is not JSON is refused, also JSON with a byte order mark or with a comma too many', () => {
  for (const text of ['', '{', '<html>', `\ufeff${JSON.stringify(GOOD)}`, `${JSON.stringify(GOOD)},`, 'NaN'])
    expect(readClientMetadata(CLIENT_ID, text)).toBe('metadata_not_json')
})

test('Members of the prototype are not members of the document', () => {
  expect(readClientMetadata(CLIENT_ID, '{"__proto__":{"client_id":"https://agent.example/oauth/client.json"}}')).toBe(
    'metadata_client_id_differs',
  )
})

test('A document in which an object has two members with one name is refused, whichever of them a reader would use', () => {
  const text = JSON.stringify(GOOD)
  expect(readClientMetadata(CLIENT_ID, `${text.slice(0, -1)},"client_name":"Other"}`)).toBe('metadata_member_twice')
  expect(readClientMetadata(CLIENT_ID, `${text.slice(0, -1)},"jwks":{"keys":[],"keys":[]}}`)).toBe('metadata_member_twice')
})
