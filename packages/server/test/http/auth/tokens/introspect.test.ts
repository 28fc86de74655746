import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endGrantsOfWallet, endOneGrant } from '../../../../src/domain/consent/end-grants.ts'
import { endMatching } from '../../../../src/domain/consent/end-matching.ts'
import { sumOf } from '../../../../src/domain/model/pages.ts'
import type { Grant } from '../../../../src/domain/model/records.ts'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { expectJson, expectRefusal } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import { LIFETIMES, type TestClient } from '../../../support/start.ts'

const API = 'https://api.example.com/'
const FILES = 'https://files.example.com/'

let app: App
let stranger: TestClient
let apiServer: TestClient

beforeAll(async () => {
  app = await startApp()
  stranger = await app.grantor.createClient()
  apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
})
afterAll(() => app.close())

/** Expects an inactive token without any other member (RFC 7662 §2.2). */
function expectInactive(answer: Answer): void {
  expectJson(answer)
  expect(answer.body).toBe('{"active":false}')
}

const NINE_MEMBERS = ['active', 'client_id', 'exp', 'iat', 'iss', 'jti', 'scope', 'sub', 'token_type']

describe('Active tokens (RFC 7662 §2.2)', () => {
  test('The introspection response for an active access token has exactly nine members, with the token’s values (RFC 7662 §2.2)', async () => {
    const at = app.grantor.clock.now()
    const { access_token } = await app.freshTokens()
    const { jti, exp } = claimsOf(access_token)
    expect(expectJson(await app.walk.introspect(app.client, access_token))).toEqual({
      active: true,
      client_id: app.client.id,
      exp,
      iat: at,
      iss: app.grantor.authUrl,
      jti,
      scope: 'enhancement',
      sub: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      token_type: 'Bearer',
    })
    expect(exp).toBe(at + LIFETIMES.accessToken)
    expect(jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('A resource server reads the audience of a token beside the nine members, and the client of the token does not', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    const own = expectJson(await app.walk.introspect(app.client, access_token))
    expect(Object.keys(own)).toEqual(NINE_MEMBERS)
    expect(expectJson(await app.walk.introspect(apiServer, access_token))).toEqual({ ...own, aud: API })
  })

  test('A resource server reads the audience of its own token too: a token for another API has that API as its audience', async () => {
    const server = await app.grantor.createClient({ resourceServer: API, grantTypes: ['client_credentials'], resources: [FILES] })
    const answer = await app.walk.token(server, { grant_type: 'client_credentials', resource: FILES })
    const active = expectJson(await app.walk.introspect(server, tokensOf(answer).access_token))
    expect(active).toMatchObject({ active: true, aud: FILES })
    expect(Object.keys(active)).toEqual([...NINE_MEMBERS, 'aud'])
  })

  test.each(['access_token', 'refresh_token', 'unheard_of', ''])(
    'An access token is active if it is introspected with the token_type_hint %j (RFC 7662 §2.1)',
    async (token_type_hint) => {
      const { access_token } = await app.freshTokens()
      const answer = await app.walk.call('/oauth/introspect', app.client, { token: access_token, token_type_hint })
      expect(answer.json()).toMatchObject({ active: true, token_type: 'Bearer' })
    },
  )

  test('An access token is inactive from the second of its exp on (RFC 7662 §2.2)', async () => {
    const { access_token } = await app.freshTokens()
    app.grantor.clock.advance(LIFETIMES.accessToken - 1)
    expect(await app.isActive(access_token)).toBe(true)
    app.grantor.clock.advance(1)
    expectInactive(await app.walk.introspect(app.client, access_token))
  })
})

describe('Callers of introspection (RFC 7662 §4)', () => {
  test('A token is active for its own client and for the server of its resource, and inactive for any other client (RFC 7662 §4)', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    expect((await app.walk.introspect(app.client, access_token)).json().active).toBe(true)
    expect((await app.walk.introspect(apiServer, access_token)).json()).toMatchObject({ active: true, client_id: app.client.id })
    expectInactive(await app.walk.introspect(stranger, access_token))
  })

  test('A token for another resource is inactive for a resource server (RFC 7662 §4)', async () => {
    const { access_token } = await app.freshTokens()
    expect(claimsOf(access_token).aud).toBe(app.grantor.authUrl)
    expectInactive(await app.walk.introspect(apiServer, access_token))
  })

  test('A token of another client is inactive for a client that is no resource server (RFC 7662 §4)', async () => {
    const { access_token } = await app.freshTokens({}, stranger)
    expectInactive(await app.walk.introspect(app.client, access_token))
  })

  test('An introspection request without a client secret or with a wrong one is 401 invalid_client (RFC 7662 §2.1)', async () => {
    const { access_token } = await app.freshTokens()
    expectRefusal(await app.walk.introspect({ ...app.client, secret: '' }, access_token), 'invalid_client')
    expectRefusal(await app.walk.introspect({ ...app.client, secret: 'wrong' }, access_token), 'invalid_client')
  })
})

describe('Inactive tokens', () => {
  test('A valid refresh token or code of the calling client is inactive at the introspection endpoint', async () => {
    const code = await app.freshCode()
    expectInactive(await app.walk.introspect(app.client, code))
    const { refresh_token } = tokensOf(await app.walk.exchange(app.client, code))
    for (const token_type_hint of ['refresh_token', 'access_token']) {
      expectInactive(await app.walk.call('/oauth/introspect', app.client, { token: refresh_token, token_type_hint }))
    }
  })

  test.each(['x', '.', '..', 'a.b.c', '....', 'null', '{}', 'eyJ', '\0', '💥', 'x'.repeat(10_000), `${'a'.repeat(9000)}.b.c`])(
    'The text %j, which is no token, is inactive at the introspection endpoint (RFC 7662 §2.2)',
    async (token) => {
      expectInactive(await app.walk.introspect(app.client, token))
    },
  )
})

describe('Tokens of ended grants', () => {
  const endings: [string, (grantId: string, refreshToken: string) => Promise<unknown>][] = [
    ['the refresh token is revoked', async (_, refreshToken) => app.walk.revoke(app.client, refreshToken)],
    ['the operator ends the grant', async (grantId) => endOneGrant(app.grantor.store, grantId, app.grantor.clock.now())],
    [
      'the operator ends all grants of the wallet',
      async () =>
        endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], undefined, app.grantor.clock.now),
    ],
    [
      'the operator ends all grants of the client',
      async () =>
        sumOf(endMatching(app.grantor.store, { clientId: app.client.id }, { reason: 'operator', now: app.grantor.clock.now })),
    ],
  ]
  test.each(endings)('Every access token of a grant is inactive for every caller once %s', async (_what, end) => {
    const { access_token, refresh_token } = await app.freshTokens({ resource: API })
    const next = tokensOf(await app.walk.refresh(app.client, refresh_token))
    await end(claimsOf(access_token).grant_id, next.refresh_token)
    for (const token of [access_token, next.access_token]) {
      expectInactive(await app.walk.introspect(app.client, token))
      expectInactive(await app.walk.introspect(apiServer, token))
    }
  })

  test('The tokens of a disabled client are inactive for the resource server, and active again once the client is enabled', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    await app.grantor.store.clients.replaceClient({ ...app.client, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expectInactive(await app.walk.introspect(apiServer, access_token))
    expectRefusal(await app.walk.introspect(app.client, access_token), 'invalid_client')
    await app.grantor.store.clients.replaceClient(app.client)
    await app.grantor.noticeChanges()
    expect((await app.walk.introspect(apiServer, access_token)).json().active).toBe(true)
  })

  test('An introspection request of a disabled resource server is 401 invalid_client', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    const closed = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
    expect((await app.walk.introspect(closed, access_token)).json().active).toBe(true)
    await app.grantor.store.clients.replaceClient({ ...closed, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.introspect(closed, access_token), 'invalid_client')
  })
})
