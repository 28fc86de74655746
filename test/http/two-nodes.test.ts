import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rotateKey } from '../../src/domain/maintenance/keep-keys.ts'
import { type App, appOf, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { keepingOf } from '../support/key-keeping.ts'
import { expectRefusal } from '../support/refusals.ts'
import { startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

let first: App
let second: App

beforeAll(async () => {
  first = await startApp()
  const { databasePath, clock, authUrl, loginUrl } = first.grantor
  const node = await startGrantor({ databasePath, clock, settings: { authUrl, loginUrl, defaultResource: authUrl } })
  const walk = new Walk(node)
  for (const [name, value] of first.walk.cookies) walk.cookies.set(name, value)
  second = appOf(node, first.client, walk)
})
afterAll(async () => {
  await second.close()
  await first.close()
})

const grantOf = (accessToken: string) => first.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)

describe('two nodes on one store are one service', () => {
  test('what one issues the other takes: sessions, codes, refresh tokens, access tokens', async () => {
    const tokens = tokensOf(await second.walk.exchange(second.client, await first.freshCode()))
    expect(await first.isActive(tokens.access_token)).toBe(true)
    const next = tokensOf(await first.walk.refresh(first.client, tokens.refresh_token))
    expect(tokensOf(await second.walk.refresh(second.client, tokens.refresh_token)).refresh_token).toBe(next.refresh_token)
    expect((await second.walk.exchange(second.client, await second.freshCode())).status).toBe(200)
  })

  test('a code redeemed 50 times at once on both: exactly one success, and its grant is ended', async () => {
    const code = await first.freshCode()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 ? first : second).walk.exchange(first.client, code)),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 'invalid_grant')
    const { access_token } = tokensOf(winners[0] ?? { json: () => ({}) })
    expect(await grantOf(access_token)).toMatchObject({ endReason: 'code_replayed' })
    expect([await first.isActive(access_token), await second.isActive(access_token)]).toEqual([false, false])
  })

  test('a token refreshed 50 times at once on both: the one same successor', async () => {
    const { refresh_token, access_token } = await first.freshTokens()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 ? first : second).walk.refresh(first.client, refresh_token)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map((answer) => tokensOf(answer).refresh_token)).size).toBe(1)
    expect(await grantOf(access_token)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('what is revoked on one is inactive on the other from the answer on', async () => {
    for (let round = 0; round < 10; round++) {
      const tokens = await first.freshTokens()
      expect(await second.isActive(tokens.access_token)).toBe(true)
      expect((await first.walk.revoke(first.client, round % 2 ? tokens.access_token : tokens.refresh_token)).status).toBe(200)
      expect(await second.isActive(tokens.access_token)).toBe(false)
    }
  })

  test('a refresh here and a revocation there at once: whoever was first, nothing lives after both', async () => {
    for (let round = 0; round < 20; round++) {
      const tokens = await first.freshTokens()
      const [refreshed, revoked] = await Promise.all([
        first.walk.refresh(first.client, tokens.refresh_token),
        second.walk.revoke(second.client, tokens.refresh_token),
      ])
      expect(revoked.status).toBe(200)
      if (refreshed.status === 200) {
        const next = tokensOf(refreshed)
        expect(await first.isActive(next.access_token)).toBe(false)
        expectRefusal(await second.walk.refresh(second.client, next.refresh_token), 'invalid_grant')
      } else expectRefusal(refreshed, 'invalid_grant')
      expect(await first.isActive(tokens.access_token)).toBe(false)
    }
  })

  test('a key made on one is announced by the other before it signs', async () => {
    await rotateKey(keepingOf(first.grantor), 'sign')
    await first.grantor.noticeChanges()
    await second.grantor.noticeChanges()
    first.grantor.clock.advance(60)
    const { access_token } = await first.freshTokens()
    expect(await second.isActive(access_token)).toBe(true)
  })

  test('a token from a key the other has not noticed yet is inactive there, never a defect', async () => {
    await rotateKey(keepingOf(first.grantor), 'sign', 0)
    await first.grantor.noticeChanges()
    const { access_token } = await first.freshTokens()
    expect(await second.isActive(access_token)).toBe(false)
    await second.grantor.noticeChanges()
    expect(await second.isActive(access_token)).toBe(true)
  })
})
