/** The rules of clients that an operator meets. The faults of a registration alone: packages/server/test/domain/clients/register-client.test.ts. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { loadKeys } from '../../../src/domain/maintenance/keep-keys.ts'
import type { Client } from '../../../src/domain/model/records.ts'
import type { Members } from '../../../src/operators/members/member.ts'
import { etagOf } from '../../../src/operators/operations/operation.ts'
import { secretMatches } from '../../../src/protocol/keys/secret.ts'
import { TOKEN_EXCHANGE } from '../../../src/protocol/oauth/grant-types.ts'
import { livingGrant } from '../../store/contract/subject.ts'
import { newClientKey } from '../../support/client-key.ts'
import { forgetOtherAlgorithms } from '../../support/key-keeping.ts'
import { expectFault, NOW, type Operations, test } from './on-store.ts'

const APP = { name: 'My app', redirect_uris: ['https://app.example.com/callback'] }
const KEY = newClientKey('ES256', 'one')
const JWKS = { keys: [KEY.jwk] }
const BY_KEY = { token_endpoint_auth_method: 'private_key_jwt', jwks: JWKS }
const [MCP, API, FILES] = ['https://mcp.example.com/mcp', 'https://api.example.com/', 'https://files.example.com/']

async function createClient(
  { output }: Operations,
  more: Members = {},
): Promise<{ id: string; secret: string; record: Members }> {
  const { client, client_secret: secret } = await output('createClient', { input: { ...APP, ...more } })
  const record = client as Members
  return { id: String(record.client_id), secret: secret as string, record }
}

async function stored({ store }: Operations, id: string): Promise<Client> {
  const client = await store.clients.readClient(id)
  if (!client) throw new Error('there is no such client')
  return client
}

test('The secret of a client is returned once, only its hash is stored, and no later output has the secret or the hash', async ({
  operations,
}) => {
  const { id, secret } = await createClient(operations)
  const { secrets } = await stored(operations, id)
  const hash = secrets[0]?.secretHash ?? ''
  expect([secrets.length, secretMatches(secret, [hash])]).toEqual([1, true])
  const later = JSON.stringify([await operations.output('getClient', { id }), await operations.output('listClients')])
  expect(later).toContain(id)
  for (const hidden of [secret, hash]) expect(later).not.toContain(hidden)
})

test('A client that has no secret is created without one: a public, a native and one with a key of its own (RFC 8252 §8.6)', async ({
  operations,
}) => {
  const consents = []
  for (const more of [{ type: 'public' }, { type: 'native', redirect_uris: ['com.example.app:/callback'] }, BY_KEY]) {
    const { id, secret, record } = await createClient(operations, more)
    expect([secret, record.secrets]).toEqual([null, []])
    expect(await operations.refused('rotateClientSecret', { id })).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('no secret'),
    })
    consents.push(record.consent)
  }
  expect(consents).toEqual(['session', 'signed', 'session'])
})

test('A client that uses only the client credentials grant, and one that is a resource server, needs no redirect URI (RFC 6749 §4.4)', async ({
  operations,
}) => {
  for (const more of [{ grant_types: ['client_credentials'] }, { resource_server: API }]) {
    const { id, secret } = await createClient(operations, { redirect_uris: [], ...more })
    expect([(await stored(operations, id)).redirectUris, typeof secret]).toEqual([[], 'string'])
  }
})

test('A change of a client keeps what is not given, and a change that breaks a rule of registration changes nothing', async ({
  operations,
}) => {
  const { call, output, acts } = operations
  const { id } = await createClient(operations, { scopes: ['profile'] })
  const before = await stored(operations, id)
  await output('updateClient', { id, input: { name: ' New name ', require_pkce: true } })
  expect(await stored(operations, id)).toEqual({ ...before, name: 'New name', requirePkce: true })
  const faulty: [Members, member: string, words: string][] = [
    [{ redirect_uris: ['http://example.com/'] }, 'redirect_uris', 'plain http'],
    [{ scopes: ['a b'], default_scopes: ['a b'] }, 'scopes', 'Scope "a b"'],
    [{ refresh_idle_lifetime: 7200, grant_lifetime: 3600 }, 'refresh_idle_lifetime', 'must not be longer'],
  ]
  for (const [input, ...fault] of faulty) await expectFault(operations, { operation: 'updateClient', id, input }, fault)
  expect((await call('updateClient', { id, input: { name: 'New name' } })).act).toBeUndefined()
  expect(await stored(operations, id)).toEqual({ ...before, name: 'New name', requirePkce: true })
  expect(acts.map(({ event }) => event)).toEqual(['client_created', 'client_changed'])
})

test('A change of a client that has changed since it was read is refused, and changes nothing (RFC 9110 §13.1.1)', async ({
  operations,
}) => {
  const { id, record } = await createClient(operations)
  const match = etagOf(record)
  const first = await operations.output('updateClient', { id, input: { name: 'First' }, match })
  for (const operation of ['updateClient', 'rotateClientSecret', 'deleteClient']) {
    const input: Members = operation === 'updateClient' ? { name: 'Second' } : {}
    expect(await operations.refused(operation, { id, input, match })).toMatchObject({ code: 'changed_meanwhile' })
  }
  expect(await stored(operations, id)).toMatchObject({ name: 'First', disabledAt: null })
  const second = { id, input: { name: 'Second' }, match: etagOf(first) }
  expect(await operations.output('updateClient', second)).toMatchObject({ name: 'Second' })
})

test('A registration that is repeated with one key creates one client and returns the same secret, and the key of another operator is another', async ({
  operations,
}) => {
  const key = randomUUID()
  const given = { input: APP, key }
  const results = await Promise.all(Array.from({ length: 5 }, () => operations.call('createClient', given)))
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1)
  for (const { output } of results) expect(output).toEqual(results[0]?.output)
  const others = await operations.refused('createClient', { input: { ...APP, name: 'Another' }, key })
  expect(others).toMatchObject({ code: 'idempotency_key_reused' })
  await operations.call('createClient', { ...given, as: { id: 'another', role: 'operator' } })
  expect(await operations.store.clients.listClients()).toHaveLength(2)
})

describe('The secret of a client', () => {
  test('A new secret is valid at once, and the earlier one until the end of the overlap', async ({ operations }) => {
    const { id, secret } = await createClient(operations)
    const rotated = await operations.output('rotateClientSecret', { id, input: { overlap: 3600 } })
    const [first, second] = (await stored(operations, id)).secrets
    expect(secretMatches(String(rotated.client_secret), [first?.secretHash ?? ''])).toBe(true)
    expect(secretMatches(secret, [second?.secretHash ?? ''])).toBe(true)
    expect([first?.expiresAt, second?.expiresAt]).toEqual([null, NOW + 3600])
  })

  test('Without an overlap only the new secret is valid', async ({ operations }) => {
    const { id, secret } = await createClient(operations)
    await operations.call('rotateClientSecret', { id, input: { overlap: 0 } })
    const { secrets } = await stored(operations, id)
    const hashes = secrets.map(({ secretHash }) => secretHash)
    expect([secrets.length, secretMatches(secret, hashes)]).toEqual([1, false])
  })

  test('The secrets of a client that begins to authenticate with keys are deleted', async ({ operations }) => {
    const { id } = await createClient(operations)
    await operations.call('updateClient', { id, input: BY_KEY })
    expect(await stored(operations, id)).toMatchObject({ authMethod: 'private_key_jwt', secrets: [] })
  })
})

test('A client that is disabled twice keeps the time of the first, and no time after it was enabled', async ({ operations }) => {
  const { id } = await createClient(operations)
  await operations.call('disableClient', { id })
  operations.clock.now += 500
  await operations.call('disableClient', { id })
  expect((await stored(operations, id)).disabledAt).toBe(NOW)
  await operations.call('enableClient', { id })
  expect((await stored(operations, id)).disabledAt).toBeNull()
  expect(operations.acts.map(({ event }) => event)).toEqual(['client_created', 'client_disabled', 'client_enabled'])
})

test('The grants of a client end with it, and are ended alone while the client stays', async ({ operations }) => {
  const { store, output } = operations
  const { id } = await createClient(operations)
  for (let count = 0; count < 2; count++) await livingGrant(store, { clientId: id })
  expect(await output('getClient', { id })).toMatchObject({ unended_grants: 2 })
  expect(await output('endGrantsOfClient', { id })).toMatchObject({ kind: 'end_grants_of_client', grants_ended: 2 })
  expect(await output('getClient', { id })).toMatchObject({ client: { disabled: false }, unended_grants: 0 })
  await livingGrant(store, { clientId: id })
  expect(await output('deleteClient', { id })).toMatchObject({ kind: 'delete_client', client_id: id, grants_ended: 1 })
  expect(await store.clients.readClient(id)).toBeNull()
})

test.for<[operation: string, input: Members]>([
  ['getClient', {}],
  ['getSetupOfClient', {}],
  ['updateClient', { name: 'x' }],
  ['rotateClientSecret', {}],
  ['removeClientLogo', {}],
  ['disableClient', {}],
  ['enableClient', {}],
  ['endGrantsOfClient', {}],
  ['deleteClient', {}],
])('The operation %s reports that there is no such client', async ([operation, input], { operations }) => {
  expect(await operations.refused(operation, { id: 'nobody', input })).toMatchObject({ code: 'not_found' })
})

describe('Warnings about a client', () => {
  const SCOPES = Array.from({ length: 8 }, (_, index) => `notes.scope-${index}`)
  const LONG = { scopes: SCOPES, resources: ['https://a.example/', 'https://b.example/'] }
  const TOO_LONG =
    /^The longest text that a wallet signs for this client has 1,\d{3} bytes\. Some hardware wallets sign at most 1,024\. /

  test('A text that some hardware wallets cannot sign is a warning with its bytes, about one client and not in lists, and changes no validator', async ({
    operations,
  }) => {
    const { call, output } = operations
    const { id, record } = await createClient(operations, LONG)
    expect(record.warnings).toEqual([expect.stringMatching(TOO_LONG)])
    expect(await output('getClient', { id })).toMatchObject({ client: { warnings: record.warnings } })
    expect(await output('updateClient', { id, input: { name: 'My app' } })).toMatchObject({ warnings: record.warnings })
    const { items } = (await output('listClients')) as { items: object[] }
    expect(items.map((client) => 'warnings' in client)).toEqual([false])
    // A registered resource leaves only its own scopes at this resource: the text is shorter, and the client is the same.
    const scopes = [{ name: 'notes.scope-0', description: 'notes' }]
    await call('createResource', { input: { resource: 'https://a.example/', name: 'A', scopes } })
    const again = (await output('getClient', { id })).client as Members
    expect(again.warnings).not.toEqual(record.warnings)
    const input = { scopes: ['notes'], default_scopes: ['notes'] }
    expect(await output('updateClient', { id, input, match: etagOf(record) })).toMatchObject({ warnings: [] })
  })

  test('A name that looks like that of another client, or of the platform, is a warning at the registration and in lists', async ({
    operations,
  }) => {
    const first = await createClient(operations, { name: 'Aurora' })
    const second = await createClient(operations, { name: 'Аurora' })
    const third = await createClient(operations, { name: 'Grantor help' })
    const mixed = 'A word of the name has letters of several alphabets, so the name can look like another one.'
    const likeFirst = `The name looks like that of the client Aurora (${first.id}).`
    expect(first.record.warnings).toEqual([])
    expect(second.record.warnings).toEqual([mixed, likeFirst])
    expect(third.record.warnings).toEqual(['The name looks like that of the platform, Grantor.'])
    const { items } = (await operations.output('listClients', { input: { search: 'urora', sort: 'name' } })) as {
      items: Members[]
    }
    expect(items.map(({ name, warnings }) => [name, (warnings as string[]).at(-1)])).toEqual([
      ['Aurora', `The name looks like that of the client Аurora (${second.id}).`],
      ['Аurora', likeFirst],
    ])
    // The client can be changed by its validator: a warning is no state of the record.
    const renamed = await operations.output('updateClient', {
      id: second.id,
      input: { name: 'Tide' },
      match: etagOf(second.record),
    })
    expect(renamed).toMatchObject({ warnings: [] })
  })

  test('A scope that no resource of the client has is a warning', async ({ operations }) => {
    const scopes = [{ name: 'notes.read', description: 'Read your notes' }]
    for (const resource of ['https://notes.example/', 'https://other.example/']) {
      const own = resource.includes('notes') ? scopes : [{ name: 'other', description: 'other' }]
      await operations.call('createResource', { input: { resource, name: 'Notes', scopes: own } })
    }
    const client = { scopes: ['notes.read'], default_scopes: ['notes.read'], resources: ['https://other.example/'] }
    const { id, record } = await createClient(operations, client)
    expect(record.warnings).toEqual([
      'No resource of this client has the scope notes.read, so every request for this scope is refused. Add the resource to the client, or the scope to a resource.',
    ])
    const input = { resources: ['https://notes.example/'] }
    expect(await operations.output('updateClient', { id, input })).toMatchObject({ warnings: [] })
  })
})

describe('Token exchange (RFC 8693)', () => {
  test('Exchange resources bring the grant type at the creation, and at a change only together with the grant type', async ({
    operations,
  }) => {
    const server = { redirect_uris: [], resource_server: MCP }
    const both = await createClient(operations, { ...server, exchange_resources: [API, FILES] })
    expect(both.record).toMatchObject({ exchange_resources: [API, FILES], grant_types: [TOKEN_EXCHANGE] })
    const { id, record } = await createClient(operations, server)
    expect(record).toMatchObject({ exchange_resources: [], grant_types: [] })
    const alone = { operation: 'updateClient', id, input: { exchange_resources: [API] } }
    await expectFault(operations, alone, ['exchange_resources', `use --grant-type ${TOKEN_EXCHANGE}`])
    const update = (input: Members) => operations.output('updateClient', { id, input })
    const allowed = { grant_types: [TOKEN_EXCHANGE] }
    expect(await update({ exchange_resources: [API], ...allowed })).toMatchObject({ exchange_resources: [API], ...allowed })
    expect(await update({ exchange_resources: [FILES] })).toMatchObject({ exchange_resources: [FILES], ...allowed })
    expect(await update({ exchange_resources: [] })).toMatchObject({ exchange_resources: [] })
  })

  test.for<[what: string, more: Members, member: string, words: string]>([
    ['no resource server', {}, 'resource_server', 'Only a resource server receives tokens'],
    ['public', { type: 'public' }, 'grant_types', 'Only a confidential client may use'],
  ])('A client that is %s cannot be registered for token exchange', async ([, more, ...fault], { operations }) => {
    const input = { ...APP, ...more, exchange_resources: [API] }
    await expectFault(operations, { operation: 'createClient', input }, fault)
  })
})

describe('Keys and profiles', () => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const KEYS_MISSING = 'use --jwks or --jwks-uri'
  test.for<[what: string, more: Members, member: string | null, words: string]>([
    [
      'private_key_jwt but without keys',
      { token_endpoint_auth_method: 'private_key_jwt' },
      'token_endpoint_auth_method',
      KEYS_MISSING,
    ],
    ['signed requests but without keys', { require_signed_request_object: true }, 'jwks', KEYS_MISSING],
    ['both jwks and jwks_uri (RFC 7591 §2)', { jwks: JWKS, jwks_uri: 'https://app.example.com/jwks' }, 'jwks', 'not both'],
    ['a private key', { jwks: { keys: [KEY.privateKey.export({ format: 'jwk' })] } }, 'jwks', 'holds a secret'],
    ['an RSA key of 1024 bits', { jwks: { keys: [weak] } }, 'jwks', '1024 bits'],
    ['an empty JWK Set', { jwks: { keys: [] } }, 'jwks', 'has no keys'],
    ['a jwks_uri of plain http', { jwks_uri: 'http://app.example.com/jwks' }, 'jwks_uri', 'plain http'],
    ['a jwks_uri with a user name', { jwks_uri: 'https://u:p@app.example.com/jwks' }, 'jwks_uri', 'user name'],
    ['a jwks_uri with a fragment', { jwks_uri: 'https://app.example.com/jwks#a' }, 'jwks_uri', 'fragment'],
    ['a jwks_uri of the file scheme', { jwks_uri: 'file:///etc/passwd' }, 'jwks_uri', 'https URI'],
    [
      'a back-channel logout URI of plain http',
      { backchannel_logout_uri: 'http://app.example.com/' },
      'backchannel_logout_uri',
      'plain http',
    ],
    [
      'required sessions in logout tokens but without a back-channel logout URI',
      { backchannel_logout_session_required: true },
      'backchannel_logout_session_required',
      '--backchannel-logout-uri',
    ],
    [
      'a post-logout redirect URI of plain http',
      { post_logout_redirect_uris: ['http://app.example.com/'] },
      'post_logout_redirect_uris',
      'plain http',
    ],
    [
      'client_credentials but without authentication',
      { type: 'public', grant_types: ['authorization_code', 'client_credentials'] },
      'grant_types',
      'confidential',
    ],
    ['the profile fapi2 but without authentication', { type: 'public', profile: 'fapi2' }, 'profile', 'confidential'],
    [
      'the profile fapi2 and a client secret',
      { profile: 'fapi2', token_endpoint_auth_method: 'client_secret_basic' },
      'token_endpoint_auth_method',
      'private_key_jwt',
    ],
  ])('The registration of a client with %s is refused, with one fault', async ([, more, member, words], { operations }) => {
    await expectFault(operations, { operation: 'createClient', input: { ...APP, ...more } }, [member, words])
    expect(await operations.store.clients.listClients()).toEqual([])
  })

  test('The profile fapi2 sets all that it requires of a client, and no change unsets it (FAPI 2.0 Security Profile §5.3.2)', async ({
    operations,
  }) => {
    const { id } = await createClient(operations, { profile: 'fapi2', jwks: JWKS })
    const flags = { requirePkce: true, requirePushedRequests: true, dpopBound: true }
    const required = { profile: 'fapi2', authMethod: 'private_key_jwt', secrets: [], ...flags }
    expect(await stored(operations, id)).toMatchObject(required)
    const names = ['require_pkce', 'dpop_bound_access_tokens', 'require_pushed_authorization_requests']
    await operations.call('updateClient', { id, input: Object.fromEntries(names.map((name) => [name, false])) })
    expect(await stored(operations, id)).toMatchObject(required)
  })

  test('The only keys of a client that authenticates with them cannot be removed', async ({ operations }) => {
    const { id } = await createClient(operations, BY_KEY)
    const call = { operation: 'updateClient', id, input: { jwks: null } }
    await expectFault(operations, call, ['token_endpoint_auth_method', KEYS_MISSING])
  })

  test.for(['id_token', 'introspection', 'authorization'])(
    'RS256 for the signed response of kind %s is refused until its key has been published for 60 seconds (RFC 7591 §3.2.2)',
    async (what, { operations }) => {
      const { id } = await createClient(operations)
      const member = `${what}_signed_response_alg`
      forgetOtherAlgorithms(operations.databasePath)
      const expectRefusals = async (words: string) => {
        const input = { [member]: 'RS256' }
        const [created, changed] = [
          { operation: 'createClient', input: { ...APP, ...input } },
          { operation: 'updateClient', id, input },
        ]
        for (const call of [created, changed]) await expectFault(operations, call, [member, words])
      }
      await expectRefusals(
        'invalid_client_metadata: the RS256 key has not been published yet: start grantor serve of this version',
      )
      await loadKeys(operations.keys.keeping, operations.keys.ring)
      operations.clock.now += 59
      await expectRefusals('try again in 1 second')
      operations.clock.now += 1
      expect(await operations.output('updateClient', { id, input: { [member]: 'RS256' } })).toMatchObject({ [member]: 'RS256' })
      await createClient(operations, { [member]: 'RS256' })
    },
  )
})
