/** Token exchange (RFC 8693): the new token is only ever narrower, and everything else is refused. */
import { randomUUID } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signAccessToken } from '../../../../src/protocol/keys/access-token.ts'
import { TOKEN_EXCHANGE } from '../../../../src/protocol/oauth/grant-types.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import {
  ACCESS_TOKEN_TYPE,
  API,
  type ExchangeApp,
  FILES,
  JWT_TYPE,
  MCP,
  startExchangeApp,
} from '../../../support/exchange-app.ts'
import { expectJson, expectRefusal, invalidRequest } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { LIFETIMES, startGrantor } from '../../../support/start.ts'

let app: ExchangeApp

beforeAll(async () => {
  app = await startExchangeApp()
})
afterAll(() => app.close())

const SUBJECT_REFUSED = invalidRequest('The subject_token is invalid, expired, revoked, or not for this client.')

/** Holds an answer against a refusal, and the audit log against the reason. */
function expectRefused(answer: Answer, refusal: Parameters<typeof expectRefusal>[1], reason: string): void {
  expectRefusal(answer, refusal)
  expect(app.grantor.events.at(-1)).toMatchObject({ reason })
}

describe('The response of a token exchange (RFC 8693 §2.2.1)', () => {
  test('A token exchange returns an access token with issued_token_type and without a refresh token, and writes nothing (RFC 8693 §2.2.1)', async () => {
    const subject = await app.subjectToken()
    const before = await app.grantor.rows()
    expect(expectJson(await app.exchange(subject))).toEqual({
      access_token: expect.any(String),
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: 'Bearer',
      expires_in: LIFETIMES.accessToken,
      scope: 'enhancement profile',
    })
    expect(await app.grantor.rows()).toEqual(before)
    expect(app.grantor.events.at(-1)).toEqual({
      event: 'token_exchanged',
      client_id: app.mcp.id,
      grant_id: claimsOf(subject).grant_id,
    })
  })

  test('An exchanged token is a signed JWT with the wallet and the grant of its subject token, and act names the client (RFC 8693 §4.1)', async () => {
    const subject = claimsOf(await app.subjectToken())
    const { access_token } = tokensOf(await app.exchange(await app.subjectToken()))
    const keys = (await send(app.grantor.authUrl, { path: '/oauth/jwks' })).json() as unknown as JSONWebKeySet
    const currentDate = new Date(app.grantor.clock.now() * 1000)
    const { payload } = await jwtVerify(access_token, createLocalJWKSet(keys), { currentDate, typ: 'at+jwt', audience: API })
    expect(payload).toEqual({
      iss: app.grantor.authUrl,
      sub: app.walk.wallet.address,
      aud: API,
      client_id: app.mcp.id,
      iat: app.grantor.clock.now(),
      exp: app.grantor.clock.now() + LIFETIMES.accessToken,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      scope: 'enhancement profile',
      grant_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      acr: subject.acr,
      auth_time: subject.auth_time,
      act: { sub: app.mcp.id },
      exchanged_from: [expect.stringMatching(/^[0-9a-f-]{36}$/)],
    })
    expect(payload.sub).toBe(subject.sub)
  })

  test('An exchanged token belongs to the grant of its subject token and names the subject token', async () => {
    const subject = await app.subjectToken()
    const exchanged = claimsOf(tokensOf(await app.exchange(subject)).access_token)
    expect(exchanged).toMatchObject({ grant_id: claimsOf(subject).grant_id, exchanged_from: [claimsOf(subject).jti] })
  })

  test.each([
    [undefined, ACCESS_TOKEN_TYPE],
    [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
    [JWT_TYPE, JWT_TYPE],
  ])(
    'A token exchange with the requested_token_type %s returns the issued_token_type %s (RFC 8693 §3)',
    async (requested, issued) => {
      const answer = await app.exchange(await app.subjectToken(), { requested_token_type: requested })
      expect(expectJson(answer)).toMatchObject({ issued_token_type: issued, token_type: 'Bearer' })
    },
  )

  test('A subject_token of the type jwt is exchanged too, because an access token is a JWT (RFC 8693 §3)', async () => {
    expectJson(await app.exchange(await app.subjectToken(), { subject_token_type: JWT_TYPE }))
  })

  test('One token can be exchanged several times, and stays valid (RFC 8693 §2.1)', async () => {
    const subject = await app.subjectToken()
    const [first, second] = [await app.exchange(subject), await app.exchange(subject)].map(
      (answer) => tokensOf(answer).access_token,
    )
    expect(first).not.toBe(second)
    for (const [token, client] of [
      [subject, app.mcp],
      [first, app.api],
      [second, app.api],
    ] as const)
      expect(await app.isActive(token ?? '', client)).toBe(true)
  })
})

describe('The scope of an exchanged token', () => {
  const scopeOf = (answer: Answer) => expectJson(answer).scope

  test('A token exchange can narrow the scope (RFC 8693 §2.1)', async () => {
    const answer = await app.exchange(await app.subjectToken(), { scope: 'profile' })
    expect(scopeOf(answer)).toBe('profile')
    expect(claimsOf(tokensOf(answer).access_token).scope).toBe('profile')
  })

  test('Without scope, an exchanged token has the scopes of its subject token that the exchanging client is registered for', async () => {
    const client = await app.grantor.createClient({
      redirectUris: [],
      scopes: ['profile', 'reports'],
      resourceServer: MCP,
      exchangeResources: [API],
    })
    expect(scopeOf(await app.exchange(await app.subjectToken(), {}, { client }))).toBe('profile')
  })

  test('A scope that the subject token lacks is invalid_scope, even if both clients are registered for it (RFC 8693 §2.1)', async () => {
    const narrow = await app.subjectToken({ scope: 'enhancement' })
    for (const scope of ['profile', 'enhancement profile', 'openid'])
      expectRefused(await app.exchange(narrow, { scope }), 'invalid_scope', 'scope_not_granted')
  })

  test('A scope that the exchanging client is not registered for is invalid_scope', async () => {
    const client = await app.grantor.createClient({ redirectUris: [], resourceServer: MCP, exchangeResources: [API] })
    const subject = await app.subjectToken()
    expectRefused(await app.exchange(subject, { scope: 'profile' }, { client }), 'invalid_scope', 'scope_not_allowed')
    expectRefused(await app.exchange(subject, { scope: 'enhancement  profile' }, { client }), 'invalid_scope', 'scope_malformed')
    const profile = await app.subjectToken({ scope: 'profile' })
    expectRefused(await app.exchange(profile, {}, { client }), 'invalid_scope', 'no_scope_left')
  })
})

describe('The lifetime of an exchanged token', () => {
  test('An exchanged token expires with its subject token, also after several exchanges', async () => {
    const node = await startExchangeApp()
    const subject = await node.subjectToken()
    node.grantor.clock.advance(LIFETIMES.accessToken - 150)
    const first = await node.exchange(subject)
    expect(expectJson(first)).toMatchObject({ expires_in: 150 })
    node.grantor.clock.advance(149)
    const second = await node.exchange(tokensOf(first).access_token, { resource: FILES }, { client: node.api })
    expect(expectJson(second)).toMatchObject({ expires_in: 1 })
    for (const answer of [first, second]) expect(claimsOf(tokensOf(answer).access_token).exp).toBe(claimsOf(subject).exp)
    node.grantor.clock.advance(1)
    expectRefusal(await node.exchange(subject), SUBJECT_REFUSED)
    expect(await node.isActive(tokensOf(first).access_token, node.api)).toBe(false)
    await node.close()
  })

  test('An exchanged token lasts no longer than the access tokens of the service', async () => {
    const subject = await app.subjectToken()
    const { lifetimes } = app.grantor.deps.settings
    lifetimes.accessToken = 60
    expect(expectJson(await app.exchange(subject))).toMatchObject({ expires_in: 60 })
    lifetimes.accessToken = LIFETIMES.accessToken
  })
})

describe('The target of a token exchange (RFC 8693 §2.1, RFC 8707 §2)', () => {
  const audienceOf = async (more: Record<string, string | string[] | undefined>) =>
    claimsOf(tokensOf(await app.exchange(await app.subjectToken(), more)).access_token).aud

  test('The target can be named by audience instead of resource, by both, or repeatedly, if it is one (RFC 8693 §2.1)', async () => {
    expect(await audienceOf({ resource: undefined, audience: API })).toBe(API)
    expect(await audienceOf({ audience: API })).toBe(API)
    expect(await audienceOf({ resource: [API, API] })).toBe(API)
  })

  test.each<[string, Record<string, string | string[] | undefined>, string]>([
    ['a resource that is not registered for the exchange', { resource: FILES }, 'resource_not_exchangeable'],
    ['the client’s own resource', { resource: MCP }, 'resource_not_exchangeable'],
    ['an unknown audience', { resource: undefined, audience: 'api' }, 'resource_not_exchangeable'],
    ['a resource without its last character', { resource: API.slice(0, -1) }, 'resource_not_exchangeable'],
    ['a resource and another audience', { audience: FILES }, 'more_than_one_resource'],
    ['a resource and a repeated audience', { audience: [API, FILES] }, 'more_than_one_resource'],
    ['two resources', { resource: [API, FILES] }, 'more_than_one_resource'],
    ['a resource with a fragment', { resource: `${API}#x` }, 'resource_malformed'],
  ])('A token exchange for %s is invalid_target (RFC 8693 §2.2.2)', async (_, more, reason) => {
    expectRefused(await app.exchange(await app.subjectToken(), more), 'invalid_target', reason)
  })

  test('A token exchange without a target is invalid_request', async () => {
    const answer = await app.exchange(await app.subjectToken(), { resource: undefined })
    expectRefused(answer, invalidRequest('resource or audience is required.'), 'resource_missing')
  })

  test('A token of an app cannot be exchanged for a resource that the app is registered for and the exchanging client is not', async () => {
    const subject = await app.subjectToken({ resource: [MCP, FILES] })
    expectRefused(await app.exchange(subject, { resource: FILES }), 'invalid_target', 'resource_not_exchangeable')
  })
})

describe('The parameters of a token exchange (RFC 8693 §2.1, §2.2.2)', () => {
  test.each(['subject_token', 'subject_token_type'])(
    'A token exchange without %s, or with an empty one, is invalid_request (RFC 8693 §2.1)',
    async (name) => {
      for (const value of [undefined, ''])
        expectRefused(
          await app.exchange(await app.subjectToken(), { [name]: value }),
          invalidRequest(`${name} is required.`),
          `${name}_missing`,
        )
    },
  )

  test.each(['subject_token', 'subject_token_type', 'requested_token_type', 'actor_token', 'scope'])(
    'A token exchange with a repeated %s is invalid_request (RFC 6749 §3.2)',
    async (name) => {
      expectRefusal(
        await app.exchange(await app.subjectToken(), { [name]: ['x', 'x'] }),
        invalidRequest(`${name} was sent more than once.`),
      )
    },
  )

  test.each([
    'urn:ietf:params:oauth:token-type:refresh_token',
    'urn:ietf:params:oauth:token-type:id_token',
    'urn:ietf:params:oauth:token-type:saml2',
    'access_token',
    `${ACCESS_TOKEN_TYPE} `,
  ])(
    'The token type %j is invalid_request, for the subject token and for the requested token (RFC 8693 §2.2.2)',
    async (type) => {
      const subject = await app.subjectToken()
      expectRefused(
        await app.exchange(subject, { subject_token_type: type }),
        invalidRequest('subject_token_type must be that of an access token.'),
        'subject_token_type_unknown',
      )
      expectRefused(
        await app.exchange(subject, { requested_token_type: type }),
        invalidRequest('requested_token_type must be that of an access token.'),
        'requested_token_type_unknown',
      )
    },
  )

  test.each(['actor_token', 'actor_token_type'])(
    'A token exchange with %s is invalid_request (RFC 8693 §2.2.2)',
    async (name) => {
      const subject = await app.subjectToken()
      expectRefused(
        await app.exchange(subject, { [name]: subject }),
        invalidRequest('actor_token is not supported: the client is the actor.'),
        'actor_token_not_supported',
      )
    },
  )
})

describe('The subject token of an exchange (RFC 8693 §2.2.2)', () => {
  test('A subject token with another audience than the resource of the exchanging client is invalid_request', async () => {
    for (const resource of [API, FILES, app.grantor.authUrl])
      expectRefused(
        await app.exchange(await app.subjectToken({ resource })),
        SUBJECT_REFUSED,
        'subject_token_of_another_audience',
      )
  })

  test('A client cannot exchange a token of its own, or the token that it received in an exchange, for the same resource again', async () => {
    const { access_token } = tokensOf(await app.exchange(await app.subjectToken()))
    expectRefused(await app.exchange(access_token), SUBJECT_REFUSED, 'subject_token_of_another_audience')
  })

  test('A refresh token, an ID token, a code and an invented text are no subject tokens, whatever type is named', async () => {
    const { refresh_token, id_token } = (await app.freshTokens({
      scope: 'openid enhancement',
      response_type: 'code',
      resource: MCP,
    })) as unknown as Record<string, string>
    const code = await app.freshCode({ resource: MCP })
    for (const token of [refresh_token ?? '', id_token ?? '', code, 'x', 'eyJhbGciOiJub25lIn0.e30.', '\u0000'])
      for (const type of [ACCESS_TOKEN_TYPE, JWT_TYPE])
        expectRefused(
          await app.exchange(token, { subject_token_type: type }),
          SUBJECT_REFUSED,
          'subject_token_unknown_or_expired',
        )
  })

  test('A token with an altered signature or altered claims is no subject token', async () => {
    const [head = '', body = '', signature = ''] = (await app.subjectToken()).split('.')
    const wider = { ...claimsOf(`.${body}.`), scope: 'enhancement profile openid' }
    const forged = Buffer.from(JSON.stringify(wider)).toString('base64url')
    for (const token of [
      `${head}.${forged}.${signature}`,
      `${head}.${body}.${signature}=`,
      `${head}.${body}.${signature.slice(2)}`,
    ])
      expectRefused(await app.exchange(token), SUBJECT_REFUSED, 'subject_token_unknown_or_expired')
  })

  test('A claim of the platform in the subject token does not reach the API behind it', async () => {
    const subject = claimsOf(await app.subjectToken()) as unknown as Parameters<typeof signAccessToken>[1]
    const own = { 'https://platform.example/plan': 'pro', jti: randomUUID() }
    const { access_token } = tokensOf(await app.exchange(signAccessToken(app.grantor.deps.keys, { ...subject, ...own })))
    expect(Object.keys(claimsOf(access_token)).filter((name) => name.includes('/'))).toEqual([])
  })

  test('A token of another issuer is no subject token, even if a key of this service signed it', async () => {
    const { deps, clock } = app.grantor
    const subject = claimsOf(await app.subjectToken()) as unknown as Parameters<typeof signAccessToken>[1]
    const foreign = signAccessToken(deps.keys, { ...subject, iss: 'https://auth.example.com', jti: randomUUID() })
    expectRefused(await app.exchange(foreign), SUBJECT_REFUSED, 'subject_token_unknown_or_expired')

    const other = await startGrantor({ clock })
    const signedElsewhere = signAccessToken(other.deps.keys, { ...subject, jti: randomUUID() })
    expectRefused(await app.exchange(signedElsewhere), SUBJECT_REFUSED, 'subject_token_unknown_or_expired')
    await other.close()
  })

  test('A token of the client credentials grant has no user and is no subject token', async () => {
    const own = await app.grantor.createClient({ redirectUris: [], grantTypes: ['client_credentials'], resources: [MCP] })
    const { access_token } = tokensOf(await app.walk.token(own, { grant_type: 'client_credentials', resource: MCP }))
    expectRefused(await app.exchange(access_token), SUBJECT_REFUSED, 'subject_token_without_user')
  })
})

describe('Clients that may not exchange tokens', () => {
  test('A client that is not registered for token exchange gets unauthorized_client (RFC 6749 §5.2)', async () => {
    const subject = await app.subjectToken()
    const server = await app.grantor.createClient({ redirectUris: [], resourceServer: MCP })
    for (const client of [server, app.client])
      expectRefused(await app.exchange(subject, {}, { client }), 'unauthorized_client', 'grant_type_not_registered')
  })

  test('A public client gets unauthorized_client for a token exchange', async () => {
    const client = await app.grantor.createClient({ type: 'public', resources: [MCP] })
    expectRefusal(await app.exchange(await app.subjectToken(), {}, { client }), 'unauthorized_client')
  })

  test('A client that is registered for token exchange without a resource gets invalid_target for every resource', async () => {
    const client = await app.grantor.createClient({ redirectUris: [], grantTypes: [TOKEN_EXCHANGE], resourceServer: MCP })
    for (const resource of [API, MCP, app.grantor.authUrl])
      expectRefusal(await app.exchange(await app.subjectToken(), { resource }, { client }), 'invalid_target')
  })

  test('A disabled client, a wrong secret and a missing secret get invalid_client (RFC 6749 §5.2)', async () => {
    const subject = await app.subjectToken()
    const client = await app.grantor.createClient({ redirectUris: [], resourceServer: MCP, exchangeResources: [API] })
    expectRefusal(await app.exchange(subject, {}, { client: { ...client, secret: 'wrong' } }), 'invalid_client')
    expectRefusal(await app.exchange(subject, {}, { client: { ...client, secret: '' } }), 'invalid_client')
    await changeClient(app.grantor, client, { disabledAt: app.grantor.clock.now() })
    expectRefusal(await app.exchange(subject, {}, { client }), 'invalid_client')
  })
})

describe('Chains of exchanges (RFC 8693 §4.1)', () => {
  test('The act of a token that was exchanged twice names the current actor first and the earlier actor in it (RFC 8693 §4.1)', async () => {
    const first = tokensOf(await app.exchange(await app.subjectToken())).access_token
    const second = tokensOf(await app.exchange(first, { resource: FILES }, { client: app.api })).access_token
    expect(claimsOf(second)).toMatchObject({
      sub: app.walk.wallet.address,
      client_id: app.api.id,
      aud: FILES,
      act: { sub: app.api.id, act: { sub: app.mcp.id } },
    })
    expect((claimsOf(second).exchanged_from as string[]).at(-1)).toBe(claimsOf(first).jti)
  })

  test('A token is exchanged four times at most, so that act cannot grow', async () => {
    const client = await app.grantor.createClient({ redirectUris: [], resourceServer: MCP, exchangeResources: [MCP] })
    let token = await app.subjectToken()
    for (let exchanges = 1; exchanges <= 4; exchanges++)
      token = tokensOf(await app.exchange(token, { resource: MCP }, { client })).access_token
    expect(token.length).toBeLessThan(2000)
    expectRefused(await app.exchange(token, { resource: MCP }, { client }), SUBJECT_REFUSED, 'subject_token_exchanged_too_often')
  })

  test('A later exchange never widens what an earlier exchange narrowed', async () => {
    const first = tokensOf(await app.exchange(await app.subjectToken(), { scope: 'profile' })).access_token
    const again = (more: Record<string, string>) => app.exchange(first, { resource: FILES, ...more }, { client: app.api })
    expectRefusal(await again({ scope: 'enhancement' }), 'invalid_scope')
    expect(expectJson(await again({})).scope).toBe('profile')
  })
})
