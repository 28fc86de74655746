import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endGrantsOfClient, endGrantsOfWallet, endOneGrant } from '../../src/domain/consent/end-grants.ts'
import type { Grant } from '../../src/domain/model/records.ts'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { expectJson, expectRefusal } from '../support/refusals.ts'
import type { Answer } from '../support/send.ts'
import type { TestClient } from '../support/start.ts'

const API = 'https://api.example.com/'

let app: App
let stranger: TestClient
let apiServer: TestClient

beforeAll(async () => {
  app = await startApp()
  stranger = await app.grantor.createClient()
  apiServer = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
})
afterAll(() => app.close())

/** Inactive to the letter: nothing about the token, not even why (RFC 7662 §2.2). */
function expectInactive(answer: Answer): void {
  expectJson(answer)
  expect(answer.body).toBe('{"active":false}')
}

describe('an active token (RFC 7662 §2.2)', () => {
  test('is told by exactly the nine fields of the specification, with the values of the token', async () => {
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
    expect(exp).toBe(at + 600)
    expect(jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test.each(['access_token', 'refresh_token', 'unheard_of', ''])(
    'whatever the hint says: %j (RFC 7662 §2.1)',
    async (token_type_hint) => {
      const { access_token } = await app.freshTokens()
      const answer = await app.walk.call('/oauth/introspect', app.client, { token: access_token, token_type_hint })
      expect(answer.json()).toMatchObject({ active: true, token_type: 'Bearer' })
    },
  )

  test('is inactive from its exp on, to the second', async () => {
    const { access_token } = await app.freshTokens()
    app.grantor.clock.advance(599)
    expect(await app.isActive(access_token)).toBe(true)
    app.grantor.clock.advance(1)
    expectInactive(await app.walk.introspect(app.client, access_token))
  })
})

describe('who may know (RFC 7662 §4)', () => {
  test('the client it was issued to, and the resource server it is for; to any other client it is inactive', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    expect((await app.walk.introspect(app.client, access_token)).json().active).toBe(true)
    expect((await app.walk.introspect(apiServer, access_token)).json()).toMatchObject({ active: true, client_id: app.client.id })
    expectInactive(await app.walk.introspect(stranger, access_token))
  })

  test('a resource server learns nothing of tokens for another resource', async () => {
    const { access_token } = await app.freshTokens()
    expect(claimsOf(access_token).aud).toBe(app.grantor.authUrl)
    expectInactive(await app.walk.introspect(apiServer, access_token))
  })

  test('a client that is no resource server learns nothing of others, whoever the audience is', async () => {
    const { access_token } = await app.freshTokens({}, stranger)
    expectInactive(await app.walk.introspect(app.client, access_token))
  })

  test('nobody without credentials', async () => {
    const { access_token } = await app.freshTokens()
    expectRefusal(await app.walk.introspect({ ...app.client, secret: '' }, access_token), 'invalid_client')
    expectRefusal(await app.walk.introspect({ ...app.client, secret: 'wrong' }, access_token), 'invalid_client')
  })
})

describe('everything else is inactive', () => {
  test('refresh tokens and codes, living ones of this very client', async () => {
    const code = await app.freshCode()
    expectInactive(await app.walk.introspect(app.client, code))
    const { refresh_token } = tokensOf(await app.walk.exchange(app.client, code))
    for (const token_type_hint of ['refresh_token', 'access_token']) {
      expectInactive(await app.walk.call('/oauth/introspect', app.client, { token: refresh_token, token_type_hint }))
    }
  })

  test.each(['x', '.', '..', 'a.b.c', '....', 'null', '{}', 'eyJ', '\0', '💥', 'x'.repeat(10_000), `${'a'.repeat(9000)}.b.c`])(
    'what is no token: %j',
    async (token) => {
      expectInactive(await app.walk.introspect(app.client, token))
    },
  )
})

describe('an ended grant is inactive everywhere from that moment on', () => {
  const endings: [string, (grantId: string, refreshToken: string) => Promise<unknown>][] = [
    ['its refresh token was revoked', async (_, refreshToken) => app.walk.revoke(app.client, refreshToken)],
    ['the operator ended it', async (grantId) => endOneGrant(app.grantor.store, grantId, app.grantor.clock.now())],
    [
      'the operator ended everything of the wallet',
      async () =>
        endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], undefined, app.grantor.clock.now()),
    ],
    [
      'the operator ended everything of the client',
      async () => endGrantsOfClient(app.grantor.store, app.client.id, 'operator', app.grantor.clock.now()),
    ],
  ]
  test.each(endings)('%s', async (_what, end) => {
    const { access_token, refresh_token } = await app.freshTokens({ resource: API })
    const next = tokensOf(await app.walk.refresh(app.client, refresh_token))
    await end(claimsOf(access_token).grant_id, next.refresh_token)
    for (const token of [access_token, next.access_token]) {
      expectInactive(await app.walk.introspect(app.client, token))
      expectInactive(await app.walk.introspect(apiServer, token))
    }
  })

  test('while its client is disabled its tokens are inactive to the resource server; enabled again, active', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    await app.grantor.store.clients.replaceClient({ ...app.client, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expectInactive(await app.walk.introspect(apiServer, access_token))
    expectRefusal(await app.walk.introspect(app.client, access_token), 'invalid_client')
    await app.grantor.store.clients.replaceClient(app.client)
    await app.grantor.noticeChanges()
    expect((await app.walk.introspect(apiServer, access_token)).json().active).toBe(true)
  })

  test('a disabled resource server learns nothing at all', async () => {
    const { access_token } = await app.freshTokens({ resource: API })
    const closed = await app.grantor.createClient({ redirectUris: [], resourceServer: API })
    expect((await app.walk.introspect(closed, access_token)).json().active).toBe(true)
    await app.grantor.store.clients.replaceClient({ ...closed, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.introspect(closed, access_token), 'invalid_client')
  })
})
