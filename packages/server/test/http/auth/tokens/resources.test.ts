/** Registered resources: who may request them, and which scopes a token for each of them has (RFC 8707, RFC 9700 §2.3). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ClientRegistration } from '../../../../src/domain/clients/register-client.ts'
import type { Resource } from '../../../../src/domain/model/records.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { type MetadataClient, startMetadataClient } from '../../../support/client-host.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const NOTES = 'https://notes.example.com/mcp'
const FILES = 'https://files.example.com/'
const PLAIN = 'https://plain.example.com/'

let grantor: Grantor
let agent: MetadataClient
let walk: Walk
beforeAll(async () => {
  agent = await startMetadataClient()
  grantor = await startGrantor({ clientMetadata: true, limits: { client_fetches: 1000, host_fetches: 1000 } })
})
afterAll(async () => {
  await grantor.close()
  await agent.close()
})
beforeEach(() => {
  walk = new Walk(grantor)
})
afterEach(async () => {
  for (const { uri } of await grantor.store.resources.listResources()) await grantor.store.resources.deleteResource(uri)
  await grantor.noticeChanges()
})

async function register(uri: string, scopes: string[], openTo: Resource['openTo'] = ['registered', 'metadata']): Promise<void> {
  const described = scopes.map((name) => ({ name, description: `use ${name}` }))
  await grantor.store.resources.insertResource({ uri, name: `API at ${uri}`, scopes: described, openTo, createdAt: 1 })
  await grantor.noticeChanges()
}

async function change(uri: string, changes: Partial<Resource>): Promise<void> {
  await grantor.store.resources.changeResource(uri, (present) => ({ ...present, ...changes }))
  await grantor.noticeChanges()
}

async function remove(uri: string): Promise<void> {
  await grantor.store.resources.deleteResource(uri)
  await grantor.noticeChanges()
}

type More = Record<string, string | string[]>
const ofAgent = (more: More = {}): More => ({ ...requestOf(agent.client), response_type: 'code', ...PKCE, ...more })

/** Signs in and exchanges the code. */
async function tokensFor(client: TestClient, request: More, more: Record<string, string> = {}) {
  const { code } = await walk.signIn({ ...request, prompt: 'login' })
  return tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER, ...more }))
}

/** What a token is for: its audience and its scopes. */
const purposeOf = ({ access_token, scope }: { access_token: string; scope: string }) => {
  expect(claimsOf(access_token).scope).toBe(scope)
  return { aud: claimsOf(access_token).aud, scope }
}

async function refusedFor(request: More): Promise<{ error: string; reason: unknown }> {
  const { location } = await walk.authorize(request)
  return { error: parameterOf(location, 'error'), reason: grantor.events.at(-1)?.reason }
}

describe('A client that is not registered', () => {
  test('A client with a metadata document gets a token for a resource that is open to such clients, with the scopes of the resource', async () => {
    await register(NOTES, ['notes.read', 'notes.write'])
    const request = ofAgent({ resource: NOTES, scope: 'openid notes.read' })
    expect(purposeOf(await tokensFor(agent.client, request))).toEqual({ aud: NOTES, scope: 'openid notes.read' })
  })

  test('A request without scope gets all scopes of the resources that it names (RFC 6749 §3.3)', async () => {
    await register(NOTES, ['notes.read', 'notes.write'])
    const tokens = await tokensFor(agent.client, ofAgent({ resource: NOTES }))
    expect(purposeOf(tokens)).toEqual({ aud: NOTES, scope: 'notes.read notes.write' })
  })

  test('A request without resource goes to the one resource to which its scopes belong', async () => {
    await register(NOTES, ['notes.read'])
    await register(FILES, ['files.read'])
    const tokens = await tokensFor(agent.client, ofAgent({ scope: 'openid files.read' }))
    expect(purposeOf(tokens)).toEqual({ aud: FILES, scope: 'openid files.read' })
  })

  test('A request without resource goes to the default resource if it is open to such clients and has the scopes', async () => {
    await register(grantor.authUrl, ['shared'])
    await register(NOTES, ['shared', 'notes.read'])
    expect(purposeOf(await tokensFor(agent.client, ofAgent({ scope: 'shared' }))).aud).toBe(grantor.authUrl)
    expect(purposeOf(await tokensFor(agent.client, ofAgent({ scope: 'shared notes.read' }))).aud).toBe(NOTES)
    expect(purposeOf(await tokensFor(agent.client, ofAgent()))).toEqual({ aud: grantor.authUrl, scope: 'shared' })
  })

  test('A request without resource and scope goes to the only resource that is open', async () => {
    await register(NOTES, ['notes.read'])
    await register(FILES, ['files.read'], ['registered'])
    expect(purposeOf(await tokensFor(agent.client, ofAgent()))).toEqual({ aud: NOTES, scope: 'notes.read' })
  })

  test('A request with only scopes of the service is a sign-in: its token is for the service itself, whatever is registered', async () => {
    await register(NOTES, ['notes.read'])
    const tokens = await tokensFor(agent.client, ofAgent({ scope: 'openid wallet' }))
    expect(purposeOf(tokens)).toEqual({ aud: grantor.authUrl, scope: 'openid wallet' })
    await register(FILES, ['files.read'])
    expect(purposeOf(await tokensFor(agent.client, ofAgent()))).toEqual({ aud: grantor.authUrl, scope: 'openid' })
  })

  test('A sign-in never gets a token for a default resource that is not open to such clients', async () => {
    const { defaultResource } = grantor.deps.settings
    grantor.deps.settings.defaultResource = PLAIN
    try {
      expect(purposeOf(await tokensFor(agent.client, ofAgent({ scope: 'openid' }))).aud).toBe(grantor.authUrl)
      expect(await refusedFor(ofAgent({ scope: 'openid', resource: PLAIN }))).toMatchObject({ error: 'invalid_target' })
    } finally {
      grantor.deps.settings.defaultResource = defaultResource
    }
  })

  test.each<[string, More, string, string]>([
    ['a resource that is not registered', { resource: PLAIN }, 'invalid_target', 'resource_not_allowed'],
    ['a resource that is open to registered clients only', { resource: FILES }, 'invalid_target', 'resource_not_allowed'],
    ['an open resource and another', { resource: [NOTES, FILES] }, 'invalid_target', 'resource_not_allowed'],
    ['an open resource without its path', { resource: 'https://notes.example.com/' }, 'invalid_target', 'resource_not_allowed'],
    ['a scope of a closed resource', { resource: NOTES, scope: 'files.read' }, 'invalid_scope', 'scope_not_allowed'],
    ['a scope of the settings', { resource: NOTES, scope: 'enhancement' }, 'invalid_scope', 'scope_not_allowed'],
    ['a scope of another open resource', { resource: NOTES, scope: 'mail.read' }, 'invalid_scope', 'scope_of_another_resource'],
    [
      'an open resource for which it names no scope',
      { resource: [NOTES, 'urn:mail'], scope: 'notes.read' },
      'invalid_scope',
      'scope_of_another_resource',
    ],
    [
      'scopes of two resources without naming the resources',
      { scope: 'notes.read mail.read' },
      'invalid_target',
      'resource_unclear',
    ],
  ])('A client with a metadata document is refused %s', async (_what, more, error, reason) => {
    await register(NOTES, ['notes.read'])
    await register('urn:mail', ['mail.read'])
    await register(FILES, ['files.read'], ['registered', 'dynamic'])
    expect(await refusedFor(ofAgent(more))).toEqual({ error, reason })
  })

  test('A resource counts within the next look at the store when it is opened or closed, for a client whose document is in memory too', async () => {
    await register(NOTES, ['notes.read'], ['registered'])
    expect(await refusedFor(ofAgent({ resource: NOTES }))).toMatchObject({ error: 'invalid_target' })
    await change(NOTES, { openTo: ['metadata'] })
    expect(purposeOf(await tokensFor(agent.client, ofAgent({ resource: NOTES }))).aud).toBe(NOTES)
    await change(NOTES, { openTo: [] })
    expect(await refusedFor(ofAgent({ resource: NOTES }))).toMatchObject({ error: 'invalid_target' })
  })

  test.each<[string, () => Promise<void>]>([
    ['deleted', () => remove(NOTES)],
    ['closed to such clients', () => change(NOTES, { openTo: ['registered'] })],
    ['left without the granted scope', () => change(NOTES, { scopes: [{ name: 'other', description: 'do other' }] })],
  ])('If the resource is %s between consent and token, the code gives no token and stays usable', async (_what, act) => {
    await register(NOTES, ['notes.read'])
    const { code } = await walk.signIn(ofAgent({ resource: NOTES }))
    const [before] = await grantor.store.resources.listResources()
    await act()
    expectRefusal(await walk.exchange(agent.client, code, { code_verifier: CODE_VERIFIER }), 'invalid_scope')
    await remove(NOTES)
    if (before) await grantor.store.resources.insertResource(before)
    await grantor.noticeChanges()
    expect((await walk.exchange(agent.client, code, { code_verifier: CODE_VERIFIER })).status).toBe(200)
  })

  test('If the resource is deleted, a refresh is refused and the refresh token is not rotated', async () => {
    await register(NOTES, ['notes.read'])
    const { refresh_token } = await tokensFor(agent.client, ofAgent({ resource: NOTES }))
    await remove(NOTES)
    expectRefusal(await walk.refresh(agent.client, refresh_token), 'invalid_scope')
    expectRefusal(await walk.refresh(agent.client, refresh_token, { resource: NOTES }), 'invalid_scope')
    await register(NOTES, ['notes.read'])
    expect((await walk.refresh(agent.client, refresh_token)).status).toBe(200)
  })

  test('A scope that is removed from the resource is missing in the next token, and a scope that is added needs a new consent', async () => {
    await register(NOTES, ['notes.read', 'notes.write'])
    const { refresh_token } = await tokensFor(agent.client, ofAgent({ resource: NOTES }))
    await change(NOTES, { scopes: ['notes.read', 'notes.delete'].map((name) => ({ name, description: name })) })
    expect(purposeOf(tokensOf(await walk.refresh(agent.client, refresh_token)))).toEqual({ aud: NOTES, scope: 'notes.read' })
  })
})

describe('Scopes belong to resources', () => {
  const both: Partial<ClientRegistration> = {
    scopes: ['openid', 'notes.read', 'files.read', 'profile'],
    defaultScopes: ['notes.read', 'files.read'],
    resources: [NOTES, FILES, PLAIN],
    consent: 'signed',
  }
  const request = (client: TestClient, more: More = {}): More =>
    requestOf(client, {
      response_type: 'code',
      ...PKCE,
      resource: [NOTES, FILES],
      scope: 'openid notes.read files.read',
      ...more,
    })

  async function twoResources(more: Partial<ClientRegistration> = {}): Promise<TestClient> {
    await register(NOTES, ['notes.read'])
    await register(FILES, ['files.read'])
    return grantor.createClient({ ...both, ...more })
  }

  const messageFor = async (challenge: string, more: Record<string, string> = {}): Promise<string> => {
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1, ...more }
    return (await walk.loginApi('/login/message', claim)).json().message as string
  }

  test('A token for one resource never has a scope that belongs only to another, at the exchange and at each refresh (RFC 8707 §2.2)', async () => {
    const client = await twoResources()
    const first = await tokensFor(client, request(client))
    expect(purposeOf(first)).toEqual({ aud: NOTES, scope: 'openid notes.read' })
    const second = tokensOf(await walk.refresh(client, first.refresh_token, { resource: FILES }))
    expect(purposeOf(second)).toEqual({ aud: FILES, scope: 'openid files.read' })
    const third = tokensOf(await walk.refresh(client, second.refresh_token, { scope: 'files.read' }))
    expect(purposeOf(third)).toEqual({ aud: FILES, scope: 'files.read' })
    const { code } = await walk.signIn(request(client, { prompt: 'login' }))
    const named = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER, resource: FILES }))
    expect(purposeOf(named)).toEqual({ aud: FILES, scope: 'openid files.read' })
  })

  test('A refresh that names a resource and a scope of another resource is invalid_scope, and the token is not rotated (RFC 6749 §6)', async () => {
    const client = await twoResources()
    const { refresh_token } = await tokensFor(client, request(client))
    expectRefusal(await walk.refresh(client, refresh_token, { resource: NOTES, scope: 'files.read' }), 'invalid_scope')
    expect((await walk.refresh(client, refresh_token)).status).toBe(200)
  })

  test('The signed text pairs each resource with its own scopes (ERC-5573)', async () => {
    const client = await twoResources()
    const message = await messageFor(await walk.challenge(request(client)))
    expect(message).toContain(`(1) 'oauth': 'files.read+openid' for '${FILES}'. (2) 'oauth': 'notes.read+openid' for '${NOTES}'.`)
  })

  test('If every resource has every scope, the text is the one without groups', async () => {
    const client = await twoResources()
    const message = await messageFor(await walk.challenge(request(client, { scope: 'openid profile' })))
    expect(message).toContain(`(1) 'oauth': 'openid+profile' for '${FILES}'. (2) 'oauth': 'openid+profile' for '${NOTES}'.`)
  })

  test('If the user declines all scopes of a resource, the text, the receipt and the grant are without this resource', async () => {
    const client = await twoResources()
    const challenge = await walk.challenge(request(client, { scope: 'notes.read files.read' }))
    expect(await messageFor(challenge, { scope: 'files.read' })).not.toContain(NOTES)
    const answer = await walk.complete(await walk.prove(challenge, walk.wallet, 'files.read'))
    const [, code = ''] = /code=([^&"]+)/.exec(answer.body) ?? []
    const tokens = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER }))
    expect(purposeOf(tokens)).toEqual({ aud: FILES, scope: 'files.read' })
    expectRefusal(await walk.refresh(client, tokens.refresh_token, { resource: NOTES }), 'invalid_target')
  })

  test('The text to sign stays the same if the resources change after the request', async () => {
    const client = await twoResources()
    const challenge = await walk.challenge(request(client))
    const before = await messageFor(challenge)
    await remove(FILES)
    await change(NOTES, { scopes: [{ name: 'files.read', description: 'read files' }] })
    expect(await messageFor(challenge)).toBe(before)
  })

  test.each<[string, () => Promise<void>]>([
    [
      'a scope moves to the other resource',
      () => change(NOTES, { scopes: ['notes.read', 'files.read'].map((name) => ({ name, description: name })) }),
    ],
    ['the resource of the scope is deleted', () => remove(FILES)],
    ['both are deleted', () => remove(FILES).then(() => remove(NOTES))],
  ])('If %s after the consent, no token for a resource has a scope that was not signed for this resource', async (_what, act) => {
    const client = await twoResources()
    const { refresh_token } = await tokensFor(client, request(client))
    await act()
    const tokens = tokensOf(await walk.refresh(client, refresh_token, { resource: NOTES }))
    expect(purposeOf(tokens)).toEqual({ aud: NOTES, scope: 'openid notes.read' })
  })

  test('A consent covers a later request only for the resources with which the text paired the scopes', async () => {
    const client = await twoResources()
    await walk.signIn(request(client))
    const covered = await walk.authorize(request(client, { resource: FILES, scope: 'files.read' }))
    expect(parameterOf(covered.location, 'code')).not.toBe('')
    await change(NOTES, { scopes: ['notes.read', 'files.read'].map((name) => ({ name, description: name })) })
    const wider = await walk.authorize(request(client, { resource: NOTES, scope: 'files.read' }))
    expect(wider.location).toContain('/login?login_challenge=')
  })

  test('Without scope, a registered client gets its default scopes at the resource that it names', async () => {
    const client = await twoResources()
    const { scope: _, ...unscoped } = request(client, { resource: FILES })
    expect(purposeOf(await tokensFor(client, unscoped))).toEqual({ aud: FILES, scope: 'files.read' })
  })

  test.each<[string, More, string]>([
    ['a scope that belongs only to another resource', { resource: FILES, scope: 'notes.read' }, 'invalid_scope'],
    [
      'a scope of a registered resource for a resource that is not registered',
      { resource: PLAIN, scope: 'notes.read' },
      'invalid_scope',
    ],
    ['its default scopes for a resource that has none of them', { resource: PLAIN, scope: [] }, 'invalid_scope'],
  ])('A registered client is refused %s', async (_what, more, error) => {
    const client = await twoResources()
    expect(await refusedFor(request(client, more))).toEqual({ error, reason: 'scope_of_another_resource' })
  })

  test.each<[string, More]>([
    ['a scope of a registered resource', { resource: [], scope: 'notes.read' }],
    ['the default scopes of the client, which belong to registered resources', { resource: [], scope: [] }],
  ])(
    'A request without a resource for %s is refused with a description that names the missing parameter (RFC 8707 §2)',
    async (_, more) => {
      const { location } = await walk.authorize(request(await twoResources(), more))
      expect([parameterOf(location, 'error'), grantor.events.at(-1)?.reason]).toEqual(['invalid_scope', 'resource_missing'])
      expect(parameterOf(location, 'error_description')).toBe(
        'The request names no resource, and the default resource does not have the requested scopes. Send resource.',
      )
    },
  )

  test.each(['authorization_code', 'client_credentials'] as const)(
    'A scope that no resource of the client has is refused with a description that names the scope: %s',
    async (grantType) => {
      await register(NOTES, ['notes.read'])
      const lacking = await grantor.createClient({ scopes: ['notes.read'], resources: [], grantTypes: [grantType] })
      const message =
        grantType === 'authorization_code'
          ? parameterOf(
              (await walk.authorize(request(lacking, { resource: [], scope: 'notes.read' }))).location,
              'error_description',
            )
          : (await walk.token(lacking, { grant_type: grantType, scope: 'notes.read' })).json().error_description
      expect(grantor.events.at(-1)?.reason).toBe('scope_of_no_resource')
      expect(message).toBe(
        'No resource of this client has the scope notes.read. The operator adds the resource to the client, or the scope to a resource.',
      )
    },
  )

  test('A client credentials request without the resource of its scope is refused with a description that names the missing parameter (RFC 8707 §2)', async () => {
    await register(NOTES, ['notes.read'])
    const server = await grantor.createClient({ scopes: ['notes.read'], resources: [NOTES], grantTypes: ['client_credentials'] })
    for (const scope of ['notes.read', '']) {
      const answer = await walk.token(server, { grant_type: 'client_credentials', scope })
      expect([answer.status, answer.json().error]).toEqual([400, 'invalid_scope'])
      expect(answer.json().error_description).toContain('names no resource')
    }
    const named = await walk.token(server, { grant_type: 'client_credentials', resource: NOTES })
    expect(named.json()).toMatchObject({ scope: 'notes.read' })
  })

  test('A resource that is not registered, and the scopes of the settings, work as before for registered clients', async () => {
    const client = await twoResources()
    const tokens = await tokensFor(client, request(client, { resource: [PLAIN, NOTES], scope: 'profile' }))
    expect(purposeOf(tokens)).toEqual({ aud: PLAIN, scope: 'profile' })
    expect(purposeOf(tokensOf(await walk.refresh(client, tokens.refresh_token, { resource: NOTES })))).toMatchObject({
      aud: NOTES,
    })
  })

  test('A registered client that lists a resource is refused if the resource is not open to registered clients', async () => {
    const client = await twoResources()
    await change(NOTES, { openTo: ['metadata'] })
    expect(await refusedFor(request(client, { resource: NOTES, scope: 'notes.read' }))).toEqual({
      error: 'invalid_target',
      reason: 'resource_not_allowed',
    })
  })

  test('With consent rule session, a confirmed request has the same pairs', async () => {
    const client = await twoResources({ consent: 'session' })
    await walk.signIn(request(client))
    const page = await walk.authorize(request(client, { prompt: 'consent' }))
    const answer = await walk.confirm(page, 'allow')
    const [, code = ''] = /code=([^&"]+)/.exec(answer.body) ?? []
    const tokens = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER, resource: FILES }))
    expect(purposeOf(tokens)).toEqual({ aud: FILES, scope: 'openid files.read' })
  })

  test('A token of the client credentials grant has only scopes of its resource (RFC 6749 §4.4)', async () => {
    await twoResources()
    const service = await grantor.createClient({
      ...both,
      consent: undefined,
      redirectUris: [],
      grantTypes: ['client_credentials'],
    })
    const ask = (more: Record<string, string>) => walk.token(service, { grant_type: 'client_credentials', ...more })
    expect(purposeOf(tokensOf(await ask({ resource: FILES })))).toEqual({ aud: FILES, scope: 'files.read' })
    expectRefusal(await ask({ resource: FILES, scope: 'notes.read' }), 'invalid_scope')
  })
})

test('A token exchange gives no scope that belongs only to another resource (RFC 8693 §2.1)', async () => {
  await register(NOTES, ['notes.read', 'shared'])
  await register(FILES, ['files.read', 'shared'])
  const [scopes, resources] = [
    ['notes.read', 'files.read', 'shared'],
    [NOTES, FILES],
  ]
  const app = await grantor.createClient({ scopes, resources, consent: 'signed' })
  const server = await grantor.createClient({
    scopes,
    redirectUris: [],
    resourceServer: NOTES,
    exchangeResources: [FILES],
    grantTypes: ['urn:ietf:params:oauth:grant-type:token-exchange'],
  })
  const { access_token: subject_token } = await tokensFor(
    app,
    requestOf(app, { ...PKCE, resource: NOTES, scope: 'notes.read shared' }),
  )
  const exchange = (more: Record<string, string> = {}) =>
    walk.token(server, {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: FILES,
      ...more,
    })
  expect(purposeOf(tokensOf(await exchange()))).toEqual({ aud: FILES, scope: 'shared' })
  expectRefusal(await exchange({ scope: 'notes.read' }), 'invalid_scope')
})

test('A client that registered itself may request exactly the resources that are open to dynamic registration (RFC 7591)', async () => {
  const own = await startGrantor({ environment: { GRANTOR_DYNAMIC_REGISTRATION: 'on' } })
  try {
    const visitor = new Walk(own)
    const openTo: [string, Resource['openTo']][] = [
      [NOTES, ['dynamic']],
      [FILES, ['registered', 'metadata']],
    ]
    for (const [uri, kinds] of openTo) {
      const scopes = [{ name: 'read', description: 'read' }]
      await own.store.resources.insertResource({ uri, name: uri, scopes, openTo: kinds, createdAt: 1 })
    }
    await own.noticeChanges()
    const redirectUri = 'https://agent.example/callback'
    const registered = await send(own.authUrl, {
      method: 'POST',
      path: '/oauth/register',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    })
    expect(registered.status).toBe(201)
    const client = { id: registered.json().client_id, secret: '', redirectUris: [redirectUri] } as unknown as TestClient
    const ask = (resource: string) => requestOf(client, { ...PKCE, response_type: 'code', resource })
    const { code } = await visitor.signIn(ask(NOTES))
    const tokens = tokensOf(await visitor.exchange(client, code, { code_verifier: CODE_VERIFIER }))
    expect(purposeOf(tokens)).toEqual({ aud: NOTES, scope: 'read' })
    expect(parameterOf((await visitor.authorize(ask(FILES))).location, 'error')).toBe('invalid_target')
  } finally {
    await own.close()
  }
})

test('The metadata list the scopes of the service, of the settings and of all resources (RFC 8414 §2)', async () => {
  await register(NOTES, ['notes.read'], ['registered'])
  const metadata = (await walk.browse({ path: '/.well-known/oauth-authorization-server' })).json()
  expect(metadata.scopes_supported).toEqual(expect.arrayContaining(['openid', 'wallet', 'enhancement', 'profile', 'notes.read']))
})
