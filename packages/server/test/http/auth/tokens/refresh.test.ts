import { DatabaseSync } from 'node:sqlite'
import { describe, expect } from 'vitest'
import type { Grant } from '../../../../src/domain/model/records.ts'
import { pack } from '../../../../src/store/packed.ts'
import { type App, claimsOf, startApp, type Tokens, tokensOf } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { expectJson, expectRefusal } from '../../../support/refusals.ts'
import { LIFETIMES } from '../../../support/start.ts'

const test = base.extend('other', FILE, ({ app }) => app.grantor.createClient())

const refresh = async (app: App, token: string): Promise<Tokens> => tokensOf(await app.walk.refresh(app.client, token))
const grantOf = (app: App, tokens: Tokens): Promise<Grant | null> =>
  app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)

/** Changes the row of the grant in the database directly, as a restored backup or a lost write would. */
function rewriteGrant(app: App, tokens: Tokens, change: string): void {
  const database = new DatabaseSync(app.grantor.databasePath)
  database.prepare(`UPDATE grants SET ${change} WHERE id = ?`).run(pack(claimsOf(tokens.access_token).grant_id))
  database.close()
}

describe('The refresh grant (RFC 6749 §6)', () => {
  test('A refresh returns a new access token and a new refresh token, with the members of the code exchange (RFC 6749 §6)', async ({
    app,
  }) => {
    const first = await app.freshTokens()
    const answer = await app.walk.refresh(app.client, first.refresh_token)
    expect(Object.keys(expectJson(answer))).toEqual(['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope'])
    const second = tokensOf(answer)
    expect(second).toMatchObject({ token_type: 'Bearer', expires_in: LIFETIMES.accessToken, scope: 'enhancement' })
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(claimsOf(second.access_token)).toMatchObject({
      grant_id: claimsOf(first.access_token).grant_id,
      sub: app.walk.wallet.address,
    })
    expect(claimsOf(second.access_token).jti).not.toBe(claimsOf(first.access_token).jti)
  })

  test('An access token that was issued before a refresh stays valid until its own expiry', async ({ app }) => {
    const first = await app.freshTokens()
    app.grantor.clock.advance(300)
    const second = await refresh(app, first.refresh_token)
    app.grantor.clock.advance(LIFETIMES.accessToken - 301)
    expect(await app.isActive(first.access_token)).toBe(true)
    app.grantor.clock.advance(1)
    expect(await app.isActive(first.access_token)).toBe(false)
    expect(await app.isActive(second.access_token)).toBe(true)
  })

  test('A hundred refreshes add no grant to the store, and raise the generation of the one grant to 100', async ({ app }) => {
    const count = async (): Promise<number> => (await app.grantor.store.grants.listGrants({ limit: 1000 })).length
    let tokens = await app.freshTokens()
    const before = await count()
    for (let step = 1; step <= 100; step++) tokens = await refresh(app, tokens.refresh_token)
    expect(await count()).toBe(before)
    expect(await grantOf(app, tokens)).toMatchObject({ generation: 100, endedAt: null })
  })
})

describe('Simultaneous refreshes of one token', () => {
  test('50 simultaneous refreshes get the same refresh token and an access token each, and the grant stays valid', async ({
    app,
  }) => {
    const first = await app.freshTokens()
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.walk.refresh(app.client, first.refresh_token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const tokens = answers.map(tokensOf)
    expect(new Set(tokens.map(({ refresh_token }) => refresh_token)).size).toBe(1)
    expect(new Set(tokens.map(({ access_token }) => claimsOf(access_token).jti)).size).toBe(50)
    expect(await grantOf(app, first)).toMatchObject({ generation: 1, endedAt: null })
    for (const { access_token } of tokens) expect(await app.isActive(access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens[0]?.refresh_token ?? '')).status).toBe(200)
  })

  test('With a retry window of 0, one of 50 simultaneous refreshes gets tokens, and the grant ends', async () => {
    const strict = await startApp({ lifetimes: { refreshRetryWindow: 0 } })
    const first = await strict.freshTokens()
    const answers = await Promise.all(Array.from({ length: 50 }, () => strict.walk.refresh(strict.client, first.refresh_token)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 'invalid_grant')
    const grant = await strict.grantor.store.grants.readGrant(claimsOf(first.access_token).grant_id)
    expect(grant).toMatchObject({ generation: 1, endReason: 'refresh_replayed' })
    await strict.close()
  })
})

describe('Replayed refresh tokens (RFC 9700 §4.14.2)', () => {
  test.for([2, 3, 10])(
    'A refresh token of %i generations ago ends its grant, even within the retry window (RFC 9700 §4.14.2)',
    async (generations, { app }) => {
      const first = await app.freshTokens()
      let latest = first
      for (let step = 0; step < generations; step++) latest = await refresh(app, latest.refresh_token)
      app.grantor.events.length = 0
      expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
      expect(await grantOf(app, first)).toMatchObject({ endReason: 'refresh_replayed' })
      expect(app.grantor.events).toContainEqual(
        expect.objectContaining({
          event: 'grant_ended',
          reason: 'refresh_replayed',
          grant_id: claimsOf(first.access_token).grant_id,
        }),
      )
      for (const { access_token } of [first, latest]) expect(await app.isActive(access_token)).toBe(false)
      expectRefusal(await app.walk.refresh(app.client, latest.refresh_token), 'invalid_grant')
    },
  )
})

describe('Refresh tokens that are not the client’s', () => {
  test('A refresh token that another client presents is refused, and its grant stays valid', async ({ app, other }) => {
    const tokens = await app.freshTokens()
    const next = await refresh(app, tokens.refresh_token)
    const latest = await refresh(app, next.refresh_token)
    // the current token, the one before, and one that would end the grant if its own client presented it
    for (const { refresh_token } of [latest, next, tokens]) {
      expectRefusal(await app.walk.refresh(other, refresh_token), 'invalid_grant')
    }
    expect(await grantOf(app, tokens)).toMatchObject({ generation: 2, endedAt: null })
    expect((await app.walk.refresh(app.client, latest.refresh_token)).status).toBe(200)
  })

  test('A refresh token that is truncated, lengthened or changed is refused, and the original still works', async ({ app }) => {
    const { refresh_token } = await app.freshTokens()
    const forgeries = [
      ...[1, 2, 10, 40, 80].map((length) => refresh_token.slice(0, -length)),
      ...['A', '=', '.', ' ', '\0'].map((more) => refresh_token + more),
      ...[...refresh_token].map(
        (character, at) => `${refresh_token.slice(0, at)}${character === 'A' ? 'B' : 'A'}${refresh_token.slice(at + 1)}`,
      ),
      refresh_token.toUpperCase(),
    ]
    for (const forgery of forgeries) expectRefusal(await app.walk.refresh(app.client, forgery), 'invalid_grant')
    expect((await app.walk.refresh(app.client, refresh_token)).status).toBe(200)
  })

  test('A refresh token with a raised generation is refused, because the MAC covers the generation', async ({ app }) => {
    const { refresh_token } = await app.freshTokens()
    const [prefix, keyId, body = ''] = refresh_token.split('.')
    const bytes = Buffer.from(body, 'base64url')
    bytes.writeUInt32BE(1, 16)
    expectRefusal(await app.walk.refresh(app.client, `${prefix}.${keyId}.${bytes.toString('base64url')}`), 'invalid_grant')
    expect((await app.walk.refresh(app.client, refresh_token)).status).toBe(200)
  })

  test('A forged refresh token is refused without a query, even while the store is unavailable', async () => {
    const down = await startApp()
    const { refresh_token } = await down.freshTokens()
    await down.grantor.store.close()
    expectRefusal(await down.walk.refresh(down.client, refresh_token.replace(/.{4}$/, 'AAAA')), 'invalid_grant')
    expectRefusal(await down.walk.refresh(down.client, refresh_token), 'temporarily_unavailable')
    await down.close()
  })
})

describe('Refresh tokens that are newer than their row', () => {
  test.for([1, 5])(
    'A refresh token that is %i generations newer than its row is refused, its grant ends, and an alarm is logged',
    async (steps, { app }) => {
      let tokens = await app.freshTokens()
      const first = tokens
      for (let step = 0; step < steps; step++) tokens = await refresh(app, tokens.refresh_token)
      rewriteGrant(app, tokens, 'generation = 0')
      app.grantor.events.length = 0
      expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
      expect(await grantOf(app, tokens)).toMatchObject({ generation: 0, endReason: 'refresh_newer_than_row' })
      expect(app.grantor.events).toContainEqual(
        expect.objectContaining({ event: 'store_lost_a_write', alarm: true, grant_id: claimsOf(tokens.access_token).grant_id }),
      )
      for (const { access_token } of [first, tokens]) expect(await app.isActive(access_token)).toBe(false)
      expectRefusal(await app.walk.refresh(app.client, first.refresh_token), 'invalid_grant')
    },
  )

  test('The tokens of a grant whose row is missing are refused', async ({ app }) => {
    const tokens = await app.freshTokens()
    const database = new DatabaseSync(app.grantor.databasePath)
    database.prepare('DELETE FROM grants WHERE id = ?').run(pack(claimsOf(tokens.access_token).grant_id))
    database.close()
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expect((await app.walk.revoke(app.client, tokens.refresh_token)).status).toBe(200)
  })
})
