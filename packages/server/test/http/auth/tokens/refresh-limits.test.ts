import { describe, expect } from 'vitest'
import { type App, claimsOf, startApp, type Tokens, tokensOf } from '../../../support/app.ts'
import { test } from '../../../support/fixtures.ts'
import { expectRefusal } from '../../../support/refusals.ts'

const DAY = 86_400

/** Signs in first, because the session expires when a test advances the clock by days. */
async function tokensAfterLogin(of: App, more: Record<string, string> = {}): Promise<Tokens> {
  const { code } = await of.walk.signIn({
    client_id: of.client.id,
    redirect_uri: of.client.redirectUris[0] ?? '',
    prompt: 'login',
    ...more,
  })
  return tokensOf(await of.walk.exchange(of.client, code))
}

const generationOf = async (app: App, tokens: Tokens): Promise<number | undefined> =>
  (await app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id))?.generation

describe('The scope of a refresh (RFC 6749 §6)', () => {
  test('A refresh without scope gets all granted scopes (RFC 6749 §6)', async ({ app }) => {
    const tokens = await tokensAfterLogin(app, { scope: 'profile enhancement' })
    expect(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).scope).toBe('profile enhancement')
  })

  test('A narrower scope at a refresh applies to that access token only, and the refresh token keeps all scopes (RFC 6749 §6)', async ({
    app,
  }) => {
    const tokens = await tokensAfterLogin(app, { scope: 'profile enhancement' })
    const narrow = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token, { scope: 'profile' }))
    expect([narrow.scope, claimsOf(narrow.access_token).scope]).toEqual(['profile', 'profile'])
    expect((await app.walk.introspect(app.client, narrow.access_token)).json()).toMatchObject({ active: true, scope: 'profile' })
    expect(tokensOf(await app.walk.refresh(app.client, narrow.refresh_token)).scope).toBe('profile enhancement')
  })

  test('A refresh for a scope that was not granted is invalid_scope, and the refresh token is not rotated (RFC 6749 §6)', async ({
    app,
  }) => {
    const tokens = await tokensAfterLogin(app)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token, { scope: 'enhancement profile' }), 'invalid_scope')
    expect(await generationOf(app, tokens)).toBe(0)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('An empty scope at a refresh counts as left out', async ({ app }) => {
    const tokens = await tokensAfterLogin(app)
    expect(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token, { scope: '' })).scope).toBe('enhancement')
  })

  test('A refresh no longer returns a scope that the operator has removed from the client', async ({ app }) => {
    const tokens = await tokensAfterLogin(app, { scope: 'profile enhancement' })
    await app.grantor.store.clients.replaceClient({ ...app.client, scopes: ['profile'] })
    await app.grantor.noticeChanges()
    const narrow = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(narrow.scope).toBe('profile')
    expectRefusal(await app.walk.refresh(app.client, narrow.refresh_token, { scope: 'enhancement' }), 'invalid_scope')
    await app.grantor.store.clients.replaceClient(app.client)
    await app.grantor.noticeChanges()
  })
})

describe('The idle time of a refresh token', () => {
  test('A refresh token works until it has been idle for 14 days, and its successor has 14 days again', async ({ app }) => {
    let tokens = await tokensAfterLogin(app)
    for (let step = 0; step < 2; step++) {
      app.grantor.clock.advance(14 * DAY - 1)
      tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    }
    expect(await app.isActive(tokens.access_token)).toBe(true)
  })

  test('A refresh token that was idle for 14 days is invalid_grant', async ({ app }) => {
    const tokens = await tokensAfterLogin(app)
    app.grantor.clock.advance(14 * DAY)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await generationOf(app, tokens)).toBe(0)
  })
})

describe('The lifetime of a grant', () => {
  test('A grant ends after 30 days despite refreshes, and its last access tokens expire with it', async ({ app }) => {
    let tokens = await tokensAfterLogin(app)
    const end = app.grantor.clock.now() + 30 * DAY
    for (const days of [10, 10, 9]) {
      app.grantor.clock.advance(days * DAY)
      tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    }
    app.grantor.clock.advance(DAY - 100)
    const last = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(last.expires_in).toBe(100)
    expect(claimsOf(last.access_token).exp).toBe(end)
    app.grantor.clock.advance(99)
    expect(await app.isActive(last.access_token)).toBe(true)
    const veryLast = tokensOf(await app.walk.refresh(app.client, last.refresh_token))
    expect(veryLast.expires_in).toBe(1)
    app.grantor.clock.advance(1)
    expectRefusal(await app.walk.refresh(app.client, veryLast.refresh_token), 'invalid_grant')
    for (const { access_token } of [last, veryLast]) expect(await app.isActive(access_token)).toBe(false)
  })

  test('A clock that is set back does not revive a grant that was revoked', async ({ app }) => {
    const tokens = await tokensAfterLogin(app)
    await app.walk.revoke(app.client, tokens.refresh_token)
    app.grantor.clock.advance(-3600)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(false)
    app.grantor.clock.advance(3600)
  })

  test('A login that took longer than the lifetime of a grant yields a code that cannot be redeemed', async () => {
    const brief = await startApp({ lifetimes: { grant: 60, refreshIdle: 60 } })
    const challenge = await brief.walk.challenge({
      client_id: brief.client.id,
      redirect_uri: brief.client.redirectUris[0] ?? '',
      prompt: 'login',
    })
    brief.grantor.clock.advance(61)
    const page = await brief.walk.complete(await brief.walk.prove(challenge))
    const [, code = ''] = /\?code=([A-Za-z0-9._-]+)/.exec(page.body) ?? []
    expect(code).not.toBe('')
    expectRefusal(await brief.walk.exchange(brief.client, code), 'invalid_grant')
    await brief.close()
  })
})

describe('The access tokens of an ended grant', () => {
  test('When a grant ends, the access tokens of all its generations are inactive at once', async ({ app }) => {
    let tokens = await tokensAfterLogin(app)
    const all = [tokens.access_token]
    for (let step = 0; step < 5; step++) {
      tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
      all.push(tokens.access_token)
    }
    for (const each of all) expect(await app.isActive(each)).toBe(true)
    await app.grantor.store.grants.endGrant(claimsOf(tokens.access_token).grant_id, 'operator', app.grantor.clock.now())
    for (const each of all) expect(await app.isActive(each)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
  })
})
