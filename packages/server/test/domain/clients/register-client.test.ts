import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientFaults } from '../../../src/domain/clients/client-faults.ts'
import { type ClientRegistration, registerClient, rotateClientSecret } from '../../../src/domain/clients/register-client.ts'
import { wordsOf } from '../../../src/domain/model/fault.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import { secretMatches } from '../../../src/protocol/keys/secret.ts'
import { DEVICE_CODE_GRANT, TOKEN_EXCHANGE } from '../../../src/protocol/oauth/grant-types.ts'
import { forAll } from '../../support/property.ts'

const NOW = 1_800_000_000
const API = 'https://api.example.com/'
const APP: ClientRegistration = { name: 'MyApp', type: 'confidential', redirectUris: ['https://app.example.net/callback'] }

function register(registration: Partial<ClientRegistration> = {}): { client: Client; secret: string | null } {
  const outcome = registerClient({ ...APP, ...registration }, NOW)
  if (outcome.kind === 'faults') throw new Error(wordsOf(outcome.faults).join(' '))
  return outcome
}

function faultsOf(registration: Partial<ClientRegistration>): string[] {
  const outcome = registerClient({ ...APP, ...registration }, NOW)
  return outcome.kind === 'faults' ? wordsOf(outcome.faults) : []
}

describe('Defaults of a registration', () => {
  test('A confidential client gets a secret, consent by session, scope enhancement and both grant types by default', () => {
    const { client, secret } = register()
    expect(client).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      name: 'MyApp',
      type: 'confidential',
      redirectUris: ['https://app.example.net/callback'],
      scopes: ['enhancement'],
      defaultScopes: ['enhancement'],
      resources: [],
      resourceServer: null,
      exchangeResources: [],
      logo: null,
      codeLifetime: null,
      accessTokenLifetime: null,
      refreshIdleLifetime: null,
      grantLifetime: null,
      tokenLimit: null,
      introspectionLimit: null,
      revocationLimit: null,
      consent: 'session',
      requirePkce: false,
      authMethod: 'client_secret_basic',
      grantTypes: ['authorization_code', 'refresh_token'],
      profile: 'default',
      jwks: null,
      jwksUri: null,
      requirePushedRequests: false,
      requestObjectSigned: false,
      dpopBound: false,
      assertionAudience: 'issuer',
      idTokenAlgorithm: 'ES256',
      introspectionSigned: null,
      authorizationAlgorithm: 'ES256',
      responseModes: null,
      postLogoutRedirectUris: [],
      backchannelLogoutUri: null,
      backchannelLogoutSessionRequired: false,
      secrets: [{ secretHash: expect.any(String), expiresAt: null, createdAt: NOW }],
      createdAt: NOW,
      disabledAt: null,
    })
    expect(secretMatches(secret ?? '', [client.secrets[0]?.secretHash ?? ''])).toBe(true)
    expect(JSON.stringify(client)).not.toContain(secret)
  })

  test('A public client gets no secret and authenticates with method none (RFC 6749 §2.1)', () => {
    expect(register({ type: 'public' })).toMatchObject({
      secret: null,
      client: { secrets: [], authMethod: 'none', consent: 'session' },
    })
  })

  test('A native client gets no secret, and every authorization needs a signed consent (RFC 8252 §8.6)', () => {
    expect(register({ type: 'native', redirectUris: ['com.example.app:/cb'] })).toMatchObject({
      secret: null,
      client: { authMethod: 'none', consent: 'signed' },
    })
    expect(register({ type: 'native', consent: 'session' }).client.consent).toBe('signed')
  })

  test('A client that uses device codes only gets no redirect URI, and may use refresh tokens too (RFC 8628)', () => {
    const { client } = register({ type: 'native', redirectUris: [], grantTypes: [DEVICE_CODE_GRANT, 'refresh_token'] })
    expect(client).toMatchObject({ redirectUris: [], grantTypes: [DEVICE_CODE_GRANT, 'refresh_token'] })
  })

  test('A client that is only a resource server gets a secret, no redirect URI and no grant type (RFC 7662 §2.1)', () => {
    const { client, secret } = register({ redirectUris: [], resourceServer: 'https://api.example.com/' })
    expect(client).toMatchObject({ redirectUris: [], grantTypes: [], resourceServer: 'https://api.example.com/' })
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })

  test('A client with exchange resources may exchange tokens, beside what its redirect URIs allow (RFC 8693 §2.1)', () => {
    const exchanging = { resourceServer: 'https://mcp.example.com/', exchangeResources: ['https://api.example.com/'] }
    expect(register({ ...exchanging, redirectUris: [] }).client.grantTypes).toEqual([TOKEN_EXCHANGE])
    expect(register(exchanging).client.grantTypes).toEqual(['authorization_code', 'refresh_token', TOKEN_EXCHANGE])
    expect(register().client.exchangeResources).toEqual([])
  })

  test('The default scope of a client is enhancement if it may have that, or else all scopes that it may have', () => {
    expect(register({ scopes: ['profile', 'enhancement'] }).client.defaultScopes).toEqual(['enhancement'])
    expect(register({ scopes: ['profile', 'files'] }).client.defaultScopes).toEqual(['profile', 'files'])
    expect(register({ scopes: ['profile', 'files'], defaultScopes: ['files'] }).client.defaultScopes).toEqual(['files'])
  })
})

test('No two of 200 registered clients share an id or a secret', () => {
  const clients = Array.from({ length: 200 }, () => register())
  expect(new Set(clients.map(({ client }) => client.id)).size).toBe(200)
  expect(new Set(clients.map(({ secret }) => secret)).size).toBe(200)
})

test("Duplicates in a registration's lists are removed, and spaces around the name are removed", () => {
  const { client } = register({
    name: '  My App ',
    redirectUris: ['https://a.example/', 'https://a.example/'],
    scopes: ['enhancement', 'enhancement'],
    resources: ['https://api.example.com/', 'https://api.example.com/'],
  })
  expect(client).toMatchObject({
    name: 'My App',
    redirectUris: ['https://a.example/'],
    scopes: ['enhancement'],
    resources: ['https://api.example.com/'],
  })
})

describe('Registrations with a fault', () => {
  test.each<[string, Partial<ClientRegistration>, RegExp]>([
    ['no name', { name: '  ' }, /needs a name/],
    ['a name over 80 characters', { name: 'a'.repeat(81) }, /at most 80 characters/],
    ['a name with a line break', { name: 'My\nApp' }, /none of them invisible/],
    ['a name with a right-to-left override', { name: 'My\u202eApp' }, /none of them invisible/],
    ['a name with a zero-width space', { name: 'My\u200bApp' }, /none of them invisible/],
    ['a name of Hangul fillers (U+3164)', { name: '\u3164\u3164' }, /needs a name that is visible/],
    ['a name of half-width Hangul fillers (U+FFA0)', { name: '\uffa0' }, /needs a name that is visible/],
    ['a name of blank Braille patterns (U+2800)', { name: '\u2800' }, /needs a name that is visible/],
    ['a name of Hangul choseong fillers (U+115F)', { name: '\u115f\u1160' }, /needs a name that is visible/],
    ['a name of variation selectors', { name: '\ufe0f\u180b\u{e0100}' }, /needs a name that is visible/],
    ['a name of blank signs outside the basic plane', { name: '\u{1d159}\u{13441}' }, /needs a name that is visible/],
    ['a name of spaces and marks', { name: '\u3000\u00a0\u034f\u0301' }, /needs a name that is visible/],
    ['a name with a Hangul filler in it', { name: 'My\u3164App' }, /none of them invisible/],
    ['a name with a blank Braille pattern at its end', { name: 'MyApp\u2800' }, /none of them invisible/],
    ['a name with half a surrogate pair', { name: 'My\ud83eApp' }, /none of them invisible/],
    ['a name with a line separator', { name: 'My\u2028App' }, /none of them invisible/],
    ['no redirect URI', { redirectUris: [] }, /at least one redirect URI/],
    [
      'no redirect URI, but codes',
      { redirectUris: [], resourceServer: 'https://api.example.com', grantTypes: ['authorization_code'] },
      /at least one redirect URI/,
    ],
    ['a plain http redirect URI', { redirectUris: ['http://app.example.net/'] }, /http:\/\/app\.example\.net\/ is plain http/],
    ['a redirect URI with a fragment', { redirectUris: ['https://app.example.net/#a'] }, /has a fragment/],
    ['a redirect URI with a user name', { redirectUris: ['https://a@app.example.net/'] }, /user name/],
    ['a private-use scheme for a web app', { redirectUris: ['com.example.app:/cb'] }, /neither https nor/],
    ['a script for a redirect URI', { type: 'native', redirectUris: ['javascript:alert(1)'] }, /neither https nor/],
    ['a redirect URI with invalid characters', { redirectUris: ['https://app.example.net/ a'] }, /not a valid URI/],
    ['a redirect URI with a wrong percent sign', { redirectUris: ['https://app.example.net/%zz'] }, /RFC 3986/],
    ['a redirect URI without a scheme', { redirectUris: ['//app.example.net/callback'] }, /RFC 3986/],
    ['a scheme without a dot', { type: 'native', redirectUris: ['myapp:/callback'] }, /with a dot/],
    [
      'a redirect URI over 2,000 characters',
      { redirectUris: [`https://app.example.net/${'a'.repeat(2000)}`] },
      /longer than 2,000/,
    ],
    ['a scope that a text to sign cannot contain', { scopes: ['read:all'] }, /Scope "read:all" is not/],
    ['a scope with a space', { scopes: ['read write'] }, /Scope "read write" is not/],
    ['a scope that is not ASCII', { scopes: ['ä'] }, /Scope "ä" is not/],
    ['a scope of 65 characters', { scopes: ['x'.repeat(65)] }, /1 to 64/],
    ['no scope', { scopes: [] }, /at least one scope/],
    ['default scopes it may not have', { defaultScopes: ['admin'] }, /default scopes must be some of the scopes/],
    ['no default scope', { defaultScopes: [] }, /default scopes must be some of the scopes/],
    ['a resource with a fragment', { resources: ['https://api.example.com/#a'] }, /Resource "https:\/\/api\.example\.com\/#a"/],
    ['a resource that is no absolute URI', { resourceServer: '/api' }, /Resource "\/api"/],
    ['a resource with a quotation mark', { resources: ['https://api.example.com/"x"'] }, /Resource "https:/],
    ['a resource with a percent sign', { resources: ['https://api.example.com/%20'] }, /percent signs/],
    ['a confidential client without authentication', { authMethod: 'none' }, /confidential client must authenticate/],
    ['a public client with a secret', { type: 'public', authMethod: 'client_secret_post' }, /public client has neither a secret/],
    [
      'token exchange by a public client',
      { type: 'public', grantTypes: ['authorization_code', TOKEN_EXCHANGE] },
      /Only a confidential client may use urn:ietf:params:oauth:grant-type:token-exchange\./,
    ],
    ['a public resource server', { type: 'public', resourceServer: 'https://api.example.com' }, /keep a secret/],
    ['a logout address that is no absolute URI', { backchannelLogoutUri: '/logout' }, /not an https URI/],
    ['a logout address with a fragment', { backchannelLogoutUri: 'https://app.example.net/#a' }, /has a fragment/],
    ['a logout address over plain http', { backchannelLogoutUri: 'http://app.example.net/' }, /plain http outside loopback/],
    [
      'an address after signing out over plain http',
      { postLogoutRedirectUris: ['http://app.example.net/bye'] },
      /Post-logout redirect URI http:\/\/app\.example\.net\/bye is plain http/,
    ],
    [
      'token exchange by a client that is no resource server',
      { grantTypes: ['authorization_code', TOKEN_EXCHANGE] },
      /Only a resource server receives tokens/,
    ],
    [
      'exchange resources without the grant type',
      { resourceServer: API, exchangeResources: [API], grantTypes: ['authorization_code'] },
      /Exchange resources need the grant type/,
    ],
    [
      'an exchange resource with a fragment',
      { resourceServer: API, exchangeResources: ['https://files.example.com/#a'] },
      /Resource "https:\/\/files\.example\.com\/#a"/,
    ],
    ['refresh tokens without codes', { grantTypes: ['refresh_token'] }, /come from authorization codes/],
  ])('A registration is refused with one line that explains it: %s', (_, registration, line) => {
    expect(faultsOf(registration)).toEqual([expect.stringMatching(line)])
  })

  test('A refused registration reports every fault at once, one line each', () => {
    const faults = faultsOf({ name: '', redirectUris: ['http://a.example/', 'b'], scopes: ['a b'], resources: ['c'] })
    expect(faults).toHaveLength(5)
    for (const fault of faults) expect(fault).not.toContain('\n')
  })
})

test('Any registration returns either a client without faults or at least one fault, and never throws', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('https://a.example/', 'com.example.app:/cb', 'enhancement', 'urn:a:b'),
  )
  const registrations = fc.record(
    {
      name: fc.string({ unit: 'binary' }),
      type: fc.constantFrom('confidential' as const, 'public' as const, 'native' as const),
      redirectUris: fc.array(texts, { maxLength: 3 }),
      scopes: fc.array(texts, { maxLength: 3 }),
      defaultScopes: fc.array(texts, { maxLength: 3 }),
      resources: fc.array(texts, { maxLength: 3 }),
      resourceServer: fc.option(texts),
    },
    { requiredKeys: ['name', 'type', 'redirectUris'] },
  )
  forAll(registrations, (registration) => {
    const outcome = registerClient(registration, NOW)
    if (outcome.kind === 'faults') expect(outcome.faults.length).toBeGreaterThan(0)
    else expect(clientFaults(outcome.client)).toEqual([])
  })
})

test.each(['redirectUris', 'resources', 'scopes', 'exchangeResources', 'postLogoutRedirectUris'] as const)(
  'A client with 201 different %s is refused with this fault, and one with 200 does not have the fault',
  (list) => {
    const entries = Array.from({ length: 201 }, (_, index) =>
      list === 'scopes' ? `s${index}` : `https://app.example.net/${index}`,
    )
    expect(faultsOf({ [list]: entries.slice(1) }).join(' ')).not.toContain('at most 200')
    expect(faultsOf({ [list]: entries })).toEqual(
      expect.arrayContaining([expect.stringMatching(/^A client has at most 200 .*, not 201\.$/)]),
    )
  },
)

describe("Rotating a client's secret", () => {
  test('A new client secret is valid beside the present one, which expires after the overlap', () => {
    const { client, secret } = register()
    const rotated = rotateClientSecret(client, 3600, NOW + 10)
    expect(rotated.secret).not.toBe(secret)
    expect(rotated.client).toEqual({
      ...client,
      secrets: [
        { secretHash: expect.any(String), expiresAt: null, createdAt: NOW + 10 },
        { secretHash: client.secrets[0]?.secretHash, expiresAt: NOW + 3610, createdAt: NOW },
      ],
    })
    expect(secretMatches(rotated.secret, [rotated.client.secrets[0]?.secretHash ?? ''])).toBe(true)
  })

  test('A new client secret without overlap is the only one at once', () => {
    const { client } = rotateClientSecret(register().client, 0, NOW)
    expect(client.secrets).toEqual([{ secretHash: expect.any(String), expiresAt: null, createdAt: NOW }])
  })

  test('A client has two secrets at most: rotating again removes the oldest', () => {
    const first = register().client
    const second = rotateClientSecret(first, 86_400, NOW).client
    const third = rotateClientSecret(second, 86_400, NOW + 1).client
    expect(third.secrets).toHaveLength(2)
    expect(third.secrets[1]).toEqual({ secretHash: second.secrets[0]?.secretHash, expiresAt: NOW + 1 + 86_400, createdAt: NOW })
    expect(JSON.stringify(third)).not.toContain(first.secrets[0]?.secretHash)
  })

  test('A rotation never extends a secret that expires sooner, and does not revive an expired one', () => {
    const { client } = register()
    const [secret] = client.secrets
    const ending = { ...client, secrets: [{ secretHash: secret?.secretHash ?? '', expiresAt: NOW + 60, createdAt: NOW }] }
    expect(rotateClientSecret(ending, 86_400, NOW).client.secrets[1]?.expiresAt).toBe(NOW + 60)
    expect(rotateClientSecret(ending, 86_400, NOW + 60).client.secrets, 'nor revives what has ended').toHaveLength(1)
  })
})
