import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientFaults } from '../../../src/domain/clients/client-faults.ts'
import { type ClientRegistration, registerClient, rotateClientSecret } from '../../../src/domain/clients/register-client.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import { secretMatches } from '../../../src/keys/secret.ts'
import { DEVICE_CODE_GRANT } from '../../../src/oauth/grant-types.ts'
import { runs } from '../../support/runs.ts'

const NOW = 1_800_000_000
const APP: ClientRegistration = { name: 'MyApp', type: 'confidential', redirectUris: ['https://app.example.net/callback'] }

function registered(registration: Partial<ClientRegistration> = {}): { client: Client; secret: string | null } {
  const outcome = registerClient({ ...APP, ...registration }, NOW)
  if (outcome.kind === 'faults') throw new Error(outcome.faults.join(' '))
  return outcome
}

function faultsOf(registration: Partial<ClientRegistration>): string[] {
  const outcome = registerClient({ ...APP, ...registration }, NOW)
  return outcome.kind === 'faults' ? outcome.faults : []
}

describe('what is left out of a registration gets its usual value', () => {
  test('for a confidential client: a secret, consent by session, scope enhancement, both grant types', () => {
    const { client, secret } = registered()
    expect(client).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      name: 'MyApp',
      type: 'confidential',
      redirectUris: ['https://app.example.net/callback'],
      scopes: ['enhancement'],
      defaultScopes: ['enhancement'],
      resources: [],
      resourceServer: null,
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

  test('for a public client: no secret, and it names itself only (RFC 6749 §2.1)', () => {
    expect(registered({ type: 'public' })).toMatchObject({
      secret: null,
      client: { secrets: [], authMethod: 'none', consent: 'session' },
    })
  })

  test('for a native client: no secret, and the person is always asked (RFC 8252 §8.6)', () => {
    expect(registered({ type: 'native', redirectUris: ['com.example.app:/cb'] })).toMatchObject({
      secret: null,
      client: { authMethod: 'none', consent: 'signed' },
    })
    expect(registered({ type: 'native', consent: 'session' }).client.consent).toBe('signed')
  })

  test('for a client that uses device codes only: no redirect URI, with refresh tokens too (RFC 8628)', () => {
    const { client } = registered({ type: 'native', redirectUris: [], grantTypes: [DEVICE_CODE_GRANT, 'refresh_token'] })
    expect(client).toMatchObject({ redirectUris: [], grantTypes: [DEVICE_CODE_GRANT, 'refresh_token'] })
  })

  test('for a resource server only: no redirect URI and no grant type (RFC 7662 §2.1)', () => {
    const { client, secret } = registered({ redirectUris: [], resourceServer: 'https://api.example.com/' })
    expect(client).toMatchObject({ redirectUris: [], grantTypes: [], resourceServer: 'https://api.example.com/' })
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })

  test('a request without scope gets enhancement where the client may have it, else all it may have', () => {
    expect(registered({ scopes: ['profile', 'enhancement'] }).client.defaultScopes).toEqual(['enhancement'])
    expect(registered({ scopes: ['profile', 'files'] }).client.defaultScopes).toEqual(['profile', 'files'])
    expect(registered({ scopes: ['profile', 'files'], defaultScopes: ['files'] }).client.defaultScopes).toEqual(['files'])
  })
})

test('no two clients share an id or a secret', () => {
  const clients = Array.from({ length: 200 }, () => registered())
  expect(new Set(clients.map(({ client }) => client.id)).size).toBe(200)
  expect(new Set(clients.map(({ secret }) => secret)).size).toBe(200)
})

test('a list that says a thing twice says it once, and a name loses the spaces around it', () => {
  const { client } = registered({
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

describe('cannot be registered, and one line says why', () => {
  test.each<[string, Partial<ClientRegistration>, RegExp]>([
    ['no name', { name: '  ' }, /needs a name/],
    ['a name over 80 characters', { name: 'a'.repeat(81) }, /at most 80 characters/],
    ['a name with a line break', { name: 'My\nApp' }, /none of them invisible/],
    ['a name that turns the text around it', { name: 'My\u202eApp' }, /none of them invisible/],
    ['a name with a space of no width', { name: 'My\u200bApp' }, /none of them invisible/],
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
    ['a redirect URI that is none', { redirectUris: ['https://app.example.net/ a'] }, /not a valid URI/],
    [
      'a redirect URI over 2,000 characters',
      { redirectUris: [`https://app.example.net/${'a'.repeat(2000)}`] },
      /longer than 2,000/,
    ],
    ['a scope no text to sign can hold', { scopes: ['read:all'] }, /Scope "read:all" is not/],
    ['no scope', { scopes: [] }, /at least one scope/],
    ['default scopes it may not have', { defaultScopes: ['admin'] }, /default scopes must be some of the scopes/],
    ['no default scope', { defaultScopes: [] }, /default scopes must be some of the scopes/],
    ['a resource with a fragment', { resources: ['https://api.example.com/#a'] }, /Resource "https:\/\/api\.example\.com\/#a"/],
    ['a resource that is no absolute URI', { resourceServer: '/api' }, /Resource "\/api"/],
    ['a resource with a percent sign', { resources: ['https://api.example.com/%20'] }, /percent signs/],
    ['a confidential client that proves nothing', { authMethod: 'none' }, /confidential client must authenticate/],
    ['a public client with a secret', { type: 'public', authMethod: 'client_secret_post' }, /public client has neither a secret/],
    ['a public resource server', { type: 'public', resourceServer: 'https://api.example.com' }, /keep a secret/],
    ['a logout address that is no absolute URI', { backchannelLogoutUri: '/logout' }, /not an https URI/],
    ['a logout address with a fragment', { backchannelLogoutUri: 'https://app.example.net/#a' }, /has a fragment/],
    ['a logout address over plain http', { backchannelLogoutUri: 'http://app.example.net/' }, /plain http outside loopback/],
    [
      'an address after signing out over plain http',
      { postLogoutRedirectUris: ['http://app.example.net/bye'] },
      /Post-logout redirect URI http:\/\/app\.example\.net\/bye is plain http/,
    ],
    ['refresh tokens without codes', { grantTypes: ['refresh_token'] }, /come from authorization codes/],
  ])('%s', (_, registration, line) => {
    expect(faultsOf(registration)).toEqual([expect.stringMatching(line)])
  })

  test('every fault is told at once, each in one line', () => {
    const faults = faultsOf({ name: '', redirectUris: ['http://a.example/', 'b'], scopes: ['a b'], resources: ['c'] })
    expect(faults).toHaveLength(5)
    for (const fault of faults) expect(fault).not.toContain('\n')
  })
})

test('whatever an operator says, the answer is a client without faults or at least one fault, never an exception', () => {
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
  fc.assert(
    fc.property(registrations, (registration) => {
      const outcome = registerClient(registration, NOW)
      if (outcome.kind === 'faults') expect(outcome.faults.length).toBeGreaterThan(0)
      else expect(clientFaults(outcome.client)).toEqual([])
    }),
    { numRuns: runs },
  )
})

describe('a new secret', () => {
  test('is valid beside the present one, which ends when the overlap is over', () => {
    const { client, secret } = registered()
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

  test('with no overlap is the only one, at once', () => {
    const { client } = rotateClientSecret(registered().client, 0, NOW)
    expect(client.secrets).toEqual([{ secretHash: expect.any(String), expiresAt: null, createdAt: NOW }])
  })

  test('leaves two at most: the one before the present one ends now', () => {
    const first = registered().client
    const second = rotateClientSecret(first, 86_400, NOW).client
    const third = rotateClientSecret(second, 86_400, NOW + 1).client
    expect(third.secrets).toHaveLength(2)
    expect(third.secrets[1]).toEqual({ secretHash: second.secrets[0]?.secretHash, expiresAt: NOW + 1 + 86_400, createdAt: NOW })
    expect(JSON.stringify(third)).not.toContain(first.secrets[0]?.secretHash)
  })

  test('never lengthens what was to end sooner', () => {
    const { client } = registered()
    const [secret] = client.secrets
    const ending = { ...client, secrets: [{ secretHash: secret?.secretHash ?? '', expiresAt: NOW + 60 }] }
    expect(rotateClientSecret(ending, 86_400, NOW).client.secrets[1]?.expiresAt).toBe(NOW + 60)
    expect(rotateClientSecret(ending, 86_400, NOW + 60).client.secrets, 'nor revives what has ended').toHaveLength(1)
  })
})
