import { describe, expect } from 'vitest'
import { type App, claimsOf, startApp, type Tokens, tokensOf } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE } from '../../../support/walk.ts'

const test = base.extend('publicClient', FILE, ({ app }) =>
  app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] }),
)

async function endReasonOf(app: App, tokens: Tokens, of = app): Promise<string | null | undefined> {
  return (await of.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id))?.endReason
}

async function publicTokens(app: App, publicClient: TestClient, of = app, client = publicClient): Promise<Tokens> {
  return tokensOf(await of.walk.exchange(client, await of.freshCode(PKCE, client), { code_verifier: CODE_VERIFIER }))
}

describe('The retry window, for a refresh whose response was lost', () => {
  test('For 59 seconds a repeated refresh returns the same new refresh token and valid access tokens', async ({ app }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    for (const seconds of [0, 1, 58]) {
      app.grantor.clock.advance(seconds)
      const again = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
      expect(again.refresh_token).toBe(second.refresh_token)
      expect(await app.isActive(again.access_token)).toBe(true)
    }
    expect(await endReasonOf(app, first)).toBe(null)
    expect((await app.walk.refresh(app.client, second.refresh_token)).status).toBe(200)
  })

  test('After 60 seconds a repeated refresh ends the grant', async ({ app }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    app.grantor.clock.advance(60)
    expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
    expect(await endReasonOf(app, first)).toBe('refresh_replayed')
    expectRefusal(await app.walk.refresh(app.client, second.refresh_token), 'invalid_grant')
  })

  test('A repeated refresh extends neither the retry window nor the idle time', async ({ app }) => {
    const first = await app.freshTokens()
    await app.walk.refresh(app.client, first.refresh_token)
    const row = await app.grantor.store.grants.readGrant(claimsOf(first.access_token).grant_id)
    app.grantor.clock.advance(30)
    await app.walk.refresh(app.client, first.refresh_token)
    expect(await app.grantor.store.grants.readGrant(claimsOf(first.access_token).grant_id)).toEqual(row)
    app.grantor.clock.advance(30)
    expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
  })

  test('The first use of the new refresh token closes the retry window, and a repetition then ends the grant', async ({
    app,
  }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    const third = tokensOf(await app.walk.refresh(app.client, second.refresh_token))
    expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
    expect(await endReasonOf(app, first)).toBe('refresh_replayed')
    expect(await app.isActive(third.access_token)).toBe(false)
  })

  test('A repeated refresh ends the grant if the clock was set back since the first', async ({ app }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    app.grantor.clock.advance(-4)
    expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
    expect(await endReasonOf(app, first)).toBe('refresh_replayed')
    app.grantor.clock.advance(4)
    expectRefusal(await app.walk.refresh(app.client, second.refresh_token), 'invalid_grant')
  })

  test('A clock that is set back by a day does not affect the current refresh token', async ({ app }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    app.grantor.clock.advance(-86_400)
    expect((await app.walk.refresh(app.client, second.refresh_token)).status).toBe(200)
    app.grantor.clock.advance(86_400)
  })

  test('A repeated refresh may narrow the scope, but not ask for more than was granted', async ({ app }) => {
    const first = await app.freshTokens({ scope: 'enhancement profile' })
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    const narrowed = tokensOf(await app.walk.refresh(app.client, first.refresh_token, { scope: 'profile' }))
    expect(narrowed).toMatchObject({ scope: 'profile', refresh_token: second.refresh_token })
    expectRefusal(await app.walk.refresh(app.client, first.refresh_token, { scope: 'admin' }), 'invalid_scope')
    expectRefusal(
      await app.walk.refresh(app.client, first.refresh_token, { resource: 'https://api.example.com/' }),
      'invalid_target',
    )
    expect(await endReasonOf(app, first)).toBe(null)
  })

  test('The retry window of a public client is 10 seconds', async ({ app, publicClient }) => {
    const first = await publicTokens(app, publicClient)
    const second = tokensOf(await app.walk.refresh(publicClient, first.refresh_token))
    app.grantor.clock.advance(9)
    expect(tokensOf(await app.walk.refresh(publicClient, first.refresh_token)).refresh_token).toBe(second.refresh_token)
    app.grantor.clock.advance(1)
    expectRefusal(await app.walk.refresh(publicClient, first.refresh_token), 'invalid_grant')
    expect(await endReasonOf(app, first)).toBe('refresh_replayed')
  })

  test('With a retry window of 0 the first repeated refresh ends the grant, for confidential and public clients', async ({
    app,
    publicClient,
  }) => {
    const strict = await startApp({ lifetimes: { refreshRetryWindow: 0, refreshRetryWindowPublic: 0 } })
    const strictPublic = await strict.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] })
    for (const [client, tokens] of [
      [strict.client, await strict.freshTokens()],
      [strictPublic, await publicTokens(app, publicClient, strict, strictPublic)],
    ] as const) {
      expect((await strict.walk.refresh(client, tokens.refresh_token)).status).toBe(200)
      expectRefusal(await strict.walk.refresh(client, tokens.refresh_token), 'invalid_grant')
      expect(await endReasonOf(app, tokens, strict)).toBe('refresh_replayed')
    }
    await strict.close()
  })
})
