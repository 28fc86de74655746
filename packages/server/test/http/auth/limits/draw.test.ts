/** A limit that the wallet signs, and an API that draws from it: by HTTP, from the request to what is left. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { grantIdOfReceipt } from '../../../../src/domain/model/grant-id.ts'
import { openCode, sealCode } from '../../../../src/domain/tokens/code.ts'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { claimsOf } from '../../../support/app.ts'
import { createApi } from '../../../support/approvals.ts'
import { API, type LimitApp, signInWith, startLimitApp, startTwoNodes, type TwoNodes, WEEKLY } from '../../../support/limits.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { type Answer, movingTo, parameterOf } from '../../../support/walk.ts'

let app: LimitApp
beforeAll(async () => {
  app = await startLimitApp()
})
afterAll(() => app.close())
beforeEach(() => app.register(WEEKLY))

const expectError = (answer: Answer, status: number, error: string): void => {
  expect([answer.status, answer.json().error]).toEqual([status, error])
}

describe('The request', () => {
  test('A session is no consent to a limit: each request leads to the login, and prompt=none is consent_required', async () => {
    await app.signedTokens()
    for (const more of [{}, { prompt: 'consent' }]) await app.walk.challenge(app.request(more))
    const { location } = await app.walk.authorize(app.request({ prompt: 'none' }))
    expect(parameterOf(location, 'error')).toBe('consent_required')
    // without the limited scope, as before
    const free = await app.walk.authorize(app.request({ scope: 'profile' }))
    expect(parameterOf(free.location, 'code')).not.toBe('')
  })

  test('A signed limit covers no later request, also of a client that needs signed consents', async () => {
    const client = await app.grantor.createClient({ scopes: ['enhancement'], resources: [API], consent: 'signed' })
    const request = { ...app.request(), client_id: client.id, redirect_uri: client.redirectUris[0] ?? '' }
    const { code } = await signInWith(app.walk, request)
    expect((await app.walk.exchange(client, code)).status).toBe(200)
    await app.walk.challenge(request)
  })

  test('The consent for other requests is found among the newest 20 receipts, of which each limit is one', async () => {
    const client = await app.grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API], consent: 'signed' })
    const of = (scope: string) => ({
      ...app.request({ scope }),
      client_id: client.id,
      redirect_uri: client.redirectUris[0] ?? '',
    })
    const signLimit = async () => {
      app.grantor.clock.advance(1)
      await signInWith(app.walk, of('enhancement'))
    }
    await app.walk.signIn(of('profile'))
    for (let limits = 0; limits < 19; limits++) await signLimit()
    expect(parameterOf((await app.walk.authorize(of('profile'))).location, 'code')).not.toBe('')
    await signLimit()
    await app.walk.challenge(of('profile'))
  })

  test('Two limited scopes in one request are refused, and so is a second resource with a scope of the same name', async () => {
    const both = await app.grantor.createClient({
      scopes: ['enhancement', 'gift'],
      resources: [API, 'https://gifts.example.com/'],
    })
    const other = { uri: 'https://gifts.example.com/', name: 'Gifts', openTo: ['registered' as const], createdAt: 1 }
    const ask = async (scopes: { name: string; description: string; limit?: typeof WEEKLY }[], scope: string) => {
      const { resources } = app.grantor.store
      await resources.deleteResource(other.uri)
      await resources.insertResource({ ...other, scopes })
      await app.grantor.noticeChanges()
      const resource = [API, other.uri]
      const answer = await app.walk.authorize({ client_id: both.id, redirect_uri: both.redirectUris[0] ?? '', resource, scope })
      return [parameterOf(answer.location, 'error'), app.grantor.events.at(-1)?.reason]
    }
    const described = { description: 'give' }
    expect(await ask([{ name: 'gift', ...described, limit: WEEKLY }], 'enhancement gift')).toEqual([
      'invalid_scope',
      'more_than_one_limit',
    ])
    expect(await ask([{ name: 'enhancement', ...described }], 'enhancement')).toEqual(['invalid_scope', 'more_than_one_limit'])
  })
})

describe('The signature', () => {
  test('The text, the grant, the introspection and what is left have one number each, lowered or not', async () => {
    const { code, message } = await signInWith(app.walk, app.request({ prompt: 'login' }), {
      uses: '7',
      each: '12.5',
      amount: '80',
    })
    const lowered = { ...WEEKLY, uses: 7, each: 1250, amount: 8000 }
    expect(readConsent(message)?.limit).toEqual({ resource: API, scope: 'enhancement', limit: lowered })
    expect(message).toContain('at most 7 times a week, 12.50 NESO each, 80.00 a week')
    const token = (await app.walk.exchange(app.client, code)).json().access_token as string
    const { grant_id: grantId } = claimsOf(token)
    const grant = await app.grantor.store.grants.readGrant(grantId)
    expect(grant?.signedLimit).toMatchObject({ resource: API, scope: 'enhancement', limit: lowered })
    const until = (grant?.signedLimit?.signedAt ?? 0) + 604_800
    expect(await app.left(token)).toEqual({
      limit: { scope: 'enhancement', ...lowered },
      left: { uses: 7, amount: 8000, until },
    })
    // Nobody else reads the limit.
    expect(await app.left(token, app.client)).toEqual({})
  })

  test.each([
    [{ uses: '21', each: '50.00', amount: '500.00' }],
    [{ uses: '20', each: '50.01', amount: '500.00' }],
    [{ uses: '20', each: '50.00', amount: '500.01' }],
    [{ uses: '20', each: '50.00', amount: '49.99' }],
    [{ uses: '-1', each: '50.00', amount: '500.00' }],
    [{ uses: '1e1', each: '50.00', amount: '500.00' }],
    [{ uses: '٢', each: '50.00', amount: '500.00' }],
    [{ uses: '20', each: '5e1', amount: '500.00' }],
    [{ uses: '20', each: '50,00', amount: '500.00' }],
    [{ uses: '20', each: '50.000', amount: '500.00' }],
    [{ uses: '', each: '50.00', amount: '500.00' }],
    [{ uses: '20' }],
    [{ uses: '20', each: '0', amount: '500.00' }],
  ])('A number that is raised, missing, or no number is refused: %o', async (limit) => {
    const challenge = await app.walk.challenge(app.request({ prompt: 'login' }))
    const claim = { login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1, limit }
    expectError(await app.walk.loginApi('/login/message', claim), 400, 'limit_refused')
    expectError(await app.walk.loginApi('/login/accept', { ...claim, signature: `0x${'00'.repeat(65)}` }), 400, 'limit_refused')
  })

  test('The signature is over the chosen numbers: with others it proves nothing', async () => {
    const challenge = await app.walk.challenge(app.request({ prompt: 'login' }))
    const claim = { login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1 }
    const low = await app.walk.loginApi('/login/message', { ...claim, limit: { uses: '1', each: '1.00', amount: '1.00' } })
    const signature = app.walk.wallet.sign(low.json().message as string)
    expectError(await app.walk.loginApi('/login/accept', { ...claim, signature }), 401, 'not_proven')
  })

  test('No use declines the scope, and the text of the rest has no limit', async () => {
    const { code, message } = await signInWith(app.walk, app.request({ prompt: 'login', scope: 'enhancement profile' }), {
      uses: '0',
    })
    expect(message).not.toContain('Limit:')
    const token = (await app.walk.exchange(app.client, code)).json()
    expect(token.scope).toBe('profile')
    expectError(await app.draw(token.access_token as string), 403, 'no_limit')
  })

  test('What was signed stays, also if the operator removes the limit before the browser returns', async () => {
    // The challenge of a long request has only the id of the pushed request, which is read again.
    const form = app.request({ state: 's'.repeat(5000), prompt: 'login' })
    const { request_uri: uri } = (await app.walk.call('/oauth/par', app.client, form)).json()
    const challenge = await app.walk.challenge({ client_id: app.client.id, request_uri: uri as string })
    const path = await app.walk.prove(challenge)
    await app.register(null)
    const code = parameterOf(movingTo(await app.walk.complete(path)), 'code')
    const { access_token: token } = (await app.walk.exchange(app.client, code)).json()
    expect((await app.draw(token as string)).json()).toMatchObject({ draw: 1, left: { uses: 19 } })
  })

  test('One signature returns once to the service, also with a copy of the browser', async () => {
    const challenge = await app.walk.challenge(app.request({ prompt: 'login' }))
    const path = await app.walk.prove(challenge)
    const first = await app.walk.complete(path)
    const again = await app.walk.complete(path)
    expect([first.status, again.status]).toEqual([200, 409])
    const elsewhere = await app.walk.copy().complete(path)
    expect(elsewhere.status).toBe(409)
  })
})

describe.each(['SQLite', 'PostgreSQL'])('Two nodes on %s', (engine) => {
  let app: TwoNodes
  beforeAll(async () => {
    const database = engine === 'PostgreSQL' ? await createPostgresDatabase() : undefined
    app = await startTwoNodes(database)
    return async () => {
      await app.close()
      await database?.drop()
    }
  })
  beforeEach(() => app.register(WEEKLY))

  describe('Drawing', () => {
    test('Each draw counts once: a repeat has the values of the first, another amount is refused', async () => {
      const { access_token: token } = await app.signedTokens()
      const first = await app.draw(token, { key: 'item-1', amount: '4500' })
      expect(first.json()).toEqual({ draw: 1, left: { uses: 19, amount: 45_500 }, until: expect.any(Number) })
      await app.draw(token, { key: 'item-2', amount: '500' })
      expect((await app.draw(token, { key: 'item-1', amount: '4500' })).json()).toEqual(first.json())
      expectError(await app.draw(token, { key: 'item-1', amount: '4501' }), 409, 'key_used')
      expect((await app.left(token)).left).toMatchObject({ uses: 18, amount: 45_000 })
    })

    test('Above one use, above the rest, and without a use left: 403 with the scope, and the key stays free', async () => {
      const { access_token: token } = await app.signedTokens({ uses: '2', each: '50', amount: '60' })
      expectError(await app.draw(token, { key: 'a', amount: '5001' }), 403, 'each_exceeded')
      expect((await app.draw(token, { key: 'a', amount: '5000' })).status).toBe(200)
      const rest = await app.draw(token, { key: 'b', amount: '1001' })
      expectError(rest, 403, 'amount_exceeded')
      expect(rest.json().scope).toBe('enhancement')
      expect((await app.draw(token, { key: 'b', amount: '1000' })).json()).toMatchObject({
        draw: 2,
        left: { uses: 0, amount: 0 },
      })
      expectError(await app.draw(token, { key: 'c', amount: '1' }), 403, 'uses_exceeded')
    })

    test('A new period begins at the edge, and a refreshed token draws from the same limit', async () => {
      const tokens = await app.signedTokens({ uses: '1', each: '50', amount: '50' })
      expect((await app.draw(tokens.access_token)).status).toBe(200)
      const { signedLimit } = (await app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)) ?? {}
      app.grantor.clock.advance((signedLimit?.signedAt ?? 0) + 604_799 - app.grantor.clock.now())
      const refreshed = (await app.walk.refresh(app.client, tokens.refresh_token)).json().access_token as string
      expectError(await app.draw(refreshed), 403, 'uses_exceeded')
      app.grantor.clock.advance(1)
      expect((await app.draw(refreshed)).json()).toMatchObject({ draw: 2, left: { uses: 0, amount: 500 } })
    })

    test('A repeat is answered after the token expired and after the grant ended, and nothing new is drawn', async () => {
      const { access_token: token } = await app.signedTokens()
      const first = await app.draw(token, { key: 'lost' })
      await app.walk.revoke(app.client, token)
      app.grantor.clock.advance(100_000)
      expect((await app.draw(token, { key: 'lost' })).json()).toEqual(first.json())
      expectError(await app.draw(token, { key: 'lost', amount: '1' }), 409, 'key_used')
      expectError(await app.draw(token, { key: 'new' }), 403, 'token_inactive')
    })

    test('After the end of the grant no node draws', async () => {
      const { access_token: token } = await app.signedTokens()
      await app.grantor.store.grants.endGrant(claimsOf(token).grant_id, 'user', app.grantor.clock.now())
      expectError(await app.draw(token), 403, 'token_inactive')
    })

    test('Who may not draw: no authentication, the client of another API, a client without a resource, a token without a limit', async () => {
      const { access_token: token } = await app.signedTokens()
      const stranger = { ...app.api, secret: 'wrong' }
      expectError(await app.draw(token, {}, stranger), 401, 'invalid_client')
      const other = await createApi(app.grantor, { resourceServer: 'https://other.example.com/' })
      expectError(await app.draw(token, {}, other), 403, 'not_yours')
      expectError(await app.draw(token, {}, app.client), 403, 'not_yours')
      expectError(await app.draw('nonsense'), 403, 'token_inactive')
      await app.register(null)
      const free = await app.signedTokens()
      expectError(await app.draw(free.access_token), 403, 'no_limit')
      // What was signed before stays.
      expect((await app.draw(token)).status).toBe(200)
    })

    test('A grant from before the limit draws nothing, and the refusal has the scope, so that the app asks and the wallet signs', async () => {
      await app.register(null)
      const { access_token: token } = await app.signedTokens()
      await app.register(WEEKLY)
      const refused = await app.draw(token)
      expectError(refused, 403, 'limit_not_signed')
      expect(refused.json().scope).toBe('enhancement')
      expect((await app.draw((await app.signedTokens()).access_token)).status).toBe(200)
    })

    test.each([
      ['key', ['', 'a b', 'x'.repeat(65), 'é']],
      ['amount', ['0', '-1', '1.0', '1e3', ' 1', '01', '٣', '9'.repeat(16)]],
    ])('A malformed %s is refused', async (name, values) => {
      const { access_token: token } = await app.signedTokens()
      for (const value of values) expectError(await app.draw(token, { [name]: value }), 400, 'invalid_request')
      expectError(await app.draw(token, { [name]: ['5', '5'] }), 400, 'invalid_request')
    })

    test('An amount is required by a limit with amounts, and refused by one without', async () => {
      const amounts = await app.signedTokens()
      expectError(await app.draw(amounts.access_token, `token=${amounts.access_token}&key=k`), 400, 'invalid_request')
      await app.register({ uses: 3 })
      const { access_token: token } = await app.signedTokens()
      expectError(await app.draw(token), 400, 'invalid_request')
      expect((await app.draw(token, `token=${token}&key=k`)).json()).toEqual({ draw: 1, left: { uses: 2 } })
    })
  })

  describe('Giving back', () => {
    test('A use without an amount is given back whole, and the response has 0 as the amount', async () => {
      await app.register({ uses: 3 })
      const { access_token: token } = await app.signedTokens()
      await app.draw(token, `token=${token}&key=k`)
      const returned = await app.giveBack({ grant_id: claimsOf(token).grant_id, key: 'k' })
      expect(returned.json()).toEqual({ draw: 1, returned: 0 })
      expect((await app.left(token)).left).toEqual({ uses: 3 })
    })

    test('A part returns the amount, the whole returns the use too, and a second return with another amount is refused', async () => {
      const { access_token: token } = await app.signedTokens()
      const { grant_id: grant } = claimsOf(token)
      await app.draw(token, { key: 'a', amount: '4500' })
      await app.draw(token, { key: 'b', amount: '100' })
      expectError(await app.giveBack({ grant_id: grant, key: 'a', amount: '4501' }), 409, 'above_draw')
      expect((await app.giveBack({ grant_id: grant, key: 'a', amount: '500' })).json()).toEqual({ draw: 1, returned: 500 })
      expect((await app.left(token)).left).toMatchObject({ uses: 18, amount: 45_900 })
      expect((await app.giveBack({ grant_id: grant, key: 'a', amount: '500' })).json()).toEqual({ draw: 1, returned: 500 })
      expectError(await app.giveBack({ grant_id: grant, key: 'a', amount: '4500' }), 409, 'already_returned')
      expect((await app.giveBack({ grant_id: grant, key: 'b', amount: '100' })).status).toBe(200)
      expect((await app.left(token)).left).toMatchObject({ uses: 19, amount: 46_000 })
      expectError(await app.giveBack({ grant_id: grant, key: 'unknown', amount: '1' }), 403, 'unknown_draw')
      const other = await createApi(app.grantor, { resourceServer: 'https://other.example.com/' })
      expectError(await app.giveBack({ grant_id: grant, key: 'a', amount: '500' }, other), 403, 'unknown_draw')
    })
  })

  describe('Both nodes at once', () => {
    test('Of equal draws at both nodes one counts, and all get its values; of draws with keys of their own as many count as are left', async () => {
      const { access_token: token } = await app.signedTokens({ uses: '5', each: '50', amount: '250' })
      const at = (index: number) => (index % 2 ? app : app.atFirst)
      const equal = await Promise.all(Array.from({ length: 20 }, (_, index) => at(index).draw(token, { key: 'same' })))
      expect(new Set(equal.map(({ body }) => body))).toEqual(new Set([equal[0]?.body]))
      expect(equal[0]?.json()).toMatchObject({ draw: 1, left: { uses: 4 } })
      const own = await Promise.all(Array.from({ length: 20 }, (_, index) => at(index).draw(token)))
      const drawn = own.filter(({ status }) => status === 200)
      expect(new Set(drawn.map((answer) => answer.json().draw))).toEqual(new Set([2, 3, 4, 5]))
      expect(drawn).toHaveLength(4)
      expect(new Set(own.filter(({ status }) => status !== 200).map((answer) => answer.json().error))).toEqual(
        new Set(['uses_exceeded']),
      )
      const { grant_id } = claimsOf(token)
      const back = await Promise.all(
        Array.from({ length: 20 }, (_, index) => at(index).giveBack({ grant_id, key: 'same', amount: '4500' })),
      )
      expect(new Set(back.map(({ body }) => body))).toEqual(new Set([JSON.stringify({ draw: 1, returned: 4500 })]))
      expect((await app.left(token)).left).toMatchObject({ uses: 1, amount: 7000 })
    })

    test('Two codes of one signature, redeemed at both nodes at once, give one grant, which the second code ends', async () => {
      const { code } = await signInWith(app.walk, app.request({ prompt: 'login' }))
      const opened = openCode(app.grantor.deps.keys, code)
      if (!opened) throw new Error('the code does not open')
      // No request leads to a second code, so this one is made as another node would make it.
      const second = sealCode(app.grantor.deps.keys, { ...opened, nonce: 'of the second code' })
      const byBoth = [app.walk.exchange(app.client, code), app.walk.copy(app.second).exchange(app.client, second)]
      const answers = await Promise.all(byBoth)
      expect(new Set(answers.map((answer) => answer.json().error))).toEqual(new Set([undefined, 'invalid_grant']))
      const token = answers.find(({ status }) => status === 200)?.json().access_token as string
      expect(claimsOf(token).grant_id).toBe(grantIdOfReceipt(opened.receiptId ?? '', opened.limit?.signedAt ?? 0))
      expectError(await app.draw(token), 403, 'token_inactive')
    })

    test('After a revocation at one node the other draws nothing new', async () => {
      const { access_token: token, refresh_token } = await app.signedTokens()
      const first = await app.draw(token, { key: 'before' })
      await app.walk.revoke(app.client, refresh_token)
      expectError(await app.draw(token), 403, 'token_inactive')
      expect((await app.draw(token, { key: 'before' })).json()).toEqual(first.json())
    })
  })
})
