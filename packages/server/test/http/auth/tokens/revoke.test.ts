import { describe, expect } from 'vitest'
import { type App, claimsOf, tokensOf } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import { LIFETIMES } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE } from '../../../support/walk.ts'

const test = base
  .extend('stranger', FILE, ({ app }) => app.grantor.createClient())
  .extend('publicClient', FILE, ({ app }) =>
    app.grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/callback'] }),
  )

function expectDone(answer: Answer): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: '{}' })
}

const grantOf = (app: App, accessToken: string) => app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)

describe('Revocation of a refresh token (RFC 7009 §2.1)', () => {
  test('Revoking the current refresh token ends the grant, and its tokens stop working at once (RFC 7009 §2.1)', async ({
    app,
  }) => {
    const tokens = await app.freshTokens()
    app.grantor.events.length = 0
    expectDone(await app.walk.revoke(app.client, tokens.refresh_token))
    expect(await grantOf(app, tokens.access_token)).toMatchObject({ endReason: 'revoked', endedAt: app.grantor.clock.now() })
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(app.grantor.events[0]).toMatchObject({ event: 'grant_ended', reason: 'revoked', client_id: app.client.id })
  })

  test('Revoking a refresh token of an earlier generation ends the grant too (RFC 7009 §2.1)', async ({ app }) => {
    const first = await app.freshTokens()
    let latest = first
    for (let step = 0; step < 3; step++) latest = tokensOf(await app.walk.refresh(app.client, latest.refresh_token))
    expectDone(await app.walk.revoke(app.client, first.refresh_token))
    expect(await grantOf(app, first.access_token)).toMatchObject({ endReason: 'revoked' })
    expectRefusal(await app.walk.refresh(app.client, latest.refresh_token), 'invalid_grant')
    expect(await app.isActive(latest.access_token)).toBe(false)
  })

  test('Revoking a refresh token does not affect other grants of the same wallet and client', async ({ app }) => {
    const [ended, other] = [await app.freshTokens(), await app.freshTokens()]
    expectDone(await app.walk.revoke(app.client, ended.refresh_token))
    expect(await app.isActive(other.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, other.refresh_token)).status).toBe(200)
  })

  test('A repeated revocation gets 200, and the grant keeps the first reason for its end', async ({ app }) => {
    const tokens = await app.freshTokens()
    const code = await app.freshCode()
    for (let time = 0; time < 3; time++) expectDone(await app.walk.revoke(app.client, tokens.refresh_token))
    const replayed = tokensOf(await app.walk.exchange(app.client, code))
    await app.walk.exchange(app.client, code)
    expectDone(await app.walk.revoke(app.client, replayed.refresh_token))
    expect(await grantOf(app, replayed.access_token)).toMatchObject({ endReason: 'code_replayed' })
  })

  test('A public client can revoke its own refresh token with its client_id', async ({ app, publicClient }) => {
    const code = await app.freshCode(PKCE, publicClient)
    const tokens = tokensOf(await app.walk.exchange(publicClient, code, { code_verifier: CODE_VERIFIER }))
    expectDone(await app.walk.revoke(publicClient, tokens.refresh_token))
    expect(await grantOf(app, tokens.access_token)).toMatchObject({ endReason: 'revoked' })
  })
})

describe('Revocation of an access token', () => {
  test('Revoking an access token does not affect its grant, the refresh token and other access tokens', async ({ app }) => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    expectDone(await app.walk.revoke(app.client, first.access_token))
    expect(await app.isActive(first.access_token)).toBe(false)
    expect(await app.isActive(second.access_token)).toBe(true)
    expect(await grantOf(app, first.access_token)).toMatchObject({ endedAt: null })
    expect((await app.walk.refresh(app.client, second.refresh_token)).status).toBe(200)
  })

  test('A revoked access token stays revoked after a refresh and a second revocation', async ({ app }) => {
    const first = await app.freshTokens()
    expectDone(await app.walk.revoke(app.client, first.access_token))
    expectDone(await app.walk.revoke(app.client, first.access_token))
    await app.walk.refresh(app.client, first.refresh_token)
    expect(await app.isActive(first.access_token)).toBe(false)
    expect(Object.keys((await grantOf(app, first.access_token))?.revokedTokens ?? {})).toEqual([claimsOf(first.access_token).jti])
  })

  test('A grant keeps up to 64 revoked access tokens, and revoking the 65th ends the grant', async ({ app }) => {
    const tokens = [await app.freshTokens()]
    while (tokens.length < 66) tokens.push(tokensOf(await app.walk.refresh(app.client, tokens.at(-1)?.refresh_token ?? '')))
    const [first] = tokens.map(({ access_token }) => access_token)
    for (const { access_token } of tokens.slice(0, 64)) expectDone(await app.walk.revoke(app.client, access_token))
    for (const { access_token } of tokens.slice(0, 64)) expect(await app.isActive(access_token)).toBe(false)
    for (const { access_token } of tokens.slice(64)) expect(await app.isActive(access_token)).toBe(true)
    expectDone(await app.walk.revoke(app.client, first ?? '')) // a repetition, which needs no space
    expect(await grantOf(app, first ?? '')).toMatchObject({ endedAt: null })
    expectDone(await app.walk.revoke(app.client, tokens[64]?.access_token ?? ''))
    expect(await grantOf(app, first ?? '')).toMatchObject({ endReason: 'too_many_revoked_tokens' })
    for (const { access_token } of tokens) expect(await app.isActive(access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.at(-1)?.refresh_token ?? ''), 'invalid_grant')
  })

  test('A revocation removes the entries of access tokens that expired an hour ago', async ({ app }) => {
    let tokens = await app.freshTokens()
    for (let round = 0; round < 3; round++) {
      for (let step = 0; step < 40; step++) {
        expectDone(await app.walk.revoke(app.client, tokens.access_token))
        tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
      }
      app.grantor.clock.advance(LIFETIMES.accessToken + 3600)
      tokens = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    }
    expectDone(await app.walk.revoke(app.client, tokens.access_token))
    const grant = await grantOf(app, tokens.access_token)
    expect(grant).toMatchObject({ endedAt: null })
    expect(Object.keys(grant?.revokedTokens ?? {})).toEqual([claimsOf(tokens.access_token).jti])
  })

  test('64 simultaneous revocations of access tokens all take effect', async ({ app }) => {
    const tokens = [await app.freshTokens()]
    while (tokens.length < 64) tokens.push(tokensOf(await app.walk.refresh(app.client, tokens.at(-1)?.refresh_token ?? '')))
    const answers = await Promise.all(tokens.map(({ access_token }) => app.walk.revoke(app.client, access_token)))
    for (const answer of answers) expectDone(answer)
    for (const { access_token } of tokens) expect(await app.isActive(access_token)).toBe(false)
    expect(await grantOf(app, tokens[0]?.access_token ?? '')).toMatchObject({ endedAt: null })
  })
})

test('A token revoked while the clock is ten minutes ahead stays inactive when the clock is right again', async ({ app }) => {
  const first = await app.freshTokens()
  const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
  expectDone(await app.walk.revoke(app.client, first.access_token))
  app.grantor.clock.advance(LIFETIMES.accessToken)
  expectDone(await app.walk.revoke(app.client, second.access_token))
  app.grantor.clock.advance(-LIFETIMES.accessToken)
  for (const { access_token } of [first, second]) expect(await app.isActive(access_token)).toBe(false)
})

describe('Revocation by another client (RFC 7009 §2.1)', () => {
  test.for(['access_token', 'refresh_token'] as const)(
    'A client that revokes the %s of another client gets invalid_grant, and the token stays valid (RFC 7009 §2.1)',
    async (kind, { app, stranger, publicClient }) => {
      const tokens = await app.freshTokens()
      for (const thief of [stranger, publicClient]) expectRefusal(await app.walk.revoke(thief, tokens[kind]), 'invalid_grant')
      expect(await app.isActive(tokens.access_token)).toBe(true)
      expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
      expect(await grantOf(app, tokens.access_token)).toMatchObject({ endedAt: null, revokedTokens: {} })
    },
  )
})

describe('Revocation of invalid tokens (RFC 7009 §2.2)', () => {
  test('Revoking an access token that expired an hour ago gets 200 and changes nothing (RFC 7009 §2.2)', async ({
    app,
    stranger,
  }) => {
    const { access_token } = await app.freshTokens()
    app.grantor.clock.advance(LIFETIMES.accessToken + 3600)
    expectDone(await app.walk.revoke(app.client, access_token))
    expectDone(await app.walk.revoke(stranger, access_token))
    expect(await grantOf(app, access_token)).toMatchObject({ revokedTokens: {} })
  })

  test('Revoking a code gets 200, and the code can still be redeemed (RFC 7009 §2.2)', async ({ app }) => {
    const code = await app.freshCode()
    expectDone(await app.walk.revoke(app.client, code))
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test.for(['x', '.', 'a.b.c', '\0', '💥', 'grr.0123456789.x', `grr.0123456789.${'A'.repeat(70)}`, 'x'.repeat(15_000)])(
    'Revoking a text that is not a token gets 200 with an empty JSON object: %j (RFC 7009 §2.2)',
    async (token, { app }) => expectDone(await app.walk.revoke(app.client, token)),
  )

  test('Revoking a changed refresh token gets 200, and the grant stays valid (RFC 7009 §2.2)', async ({ app }) => {
    const { access_token, refresh_token } = await app.freshTokens()
    expectDone(
      await app.walk.revoke(
        app.client,
        refresh_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      ),
    )
    expect(await app.isActive(access_token)).toBe(true)
  })
})

describe('The parameter token_type_hint (RFC 7009 §2.1)', () => {
  test.for(['access_token', 'refresh_token', 'unheard_of', ''])(
    'An access token and a refresh token are revoked whatever the token_type_hint: %j (RFC 7009 §2.1)',
    async (token_type_hint, { app }) => {
      const tokens = await app.freshTokens()
      expectDone(await app.walk.call('/oauth/revoke', app.client, { token: tokens.access_token, token_type_hint }))
      expect(await grantOf(app, tokens.access_token)).toMatchObject({ endedAt: null })
      expect(await app.isActive(tokens.access_token)).toBe(false)
      expectDone(await app.walk.call('/oauth/revoke', app.client, { token: tokens.refresh_token, token_type_hint }))
      expect(await grantOf(app, tokens.access_token)).toMatchObject({ endReason: 'revoked' })
    },
  )
})
