import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rotateKey } from '../../../../src/domain/maintenance/keep-keys.ts'
import { type App, appOf, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { startBeside } from '../../../support/start.ts'

let first: App
let second: App

beforeAll(async () => {
  first = await startApp()
  const node = await startBeside(first.grantor)
  second = appOf(node, first.client, first.walk.copy(node))
})
afterAll(async () => {
  await second.close()
  await first.close()
})

const grantOf = (accessToken: string) => first.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)

describe('Two nodes on one store', () => {
  test('Sessions, codes, refresh tokens and access tokens of one node are valid at the other', async () => {
    const tokens = tokensOf(await second.walk.exchange(second.client, await first.freshCode()))
    expect(await first.isActive(tokens.access_token)).toBe(true)
    const next = tokensOf(await first.walk.refresh(first.client, tokens.refresh_token))
    expect(tokensOf(await second.walk.refresh(second.client, tokens.refresh_token)).refresh_token).toBe(next.refresh_token)
    expect((await second.walk.exchange(second.client, await second.freshCode())).status).toBe(200)
  })

  test('Of 50 simultaneous exchanges of one code on two nodes, exactly one succeeds, and its grant is ended', async () => {
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

  test('50 simultaneous refreshes of one token on two nodes all get the same refresh token', async () => {
    const { refresh_token, access_token } = await first.freshTokens()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 ? first : second).walk.refresh(first.client, refresh_token)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map((answer) => tokensOf(answer).refresh_token)).size).toBe(1)
    expect(await grantOf(access_token)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('A token that is revoked on one node is inactive on the other as soon as the revocation is answered', async () => {
    for (let round = 0; round < 10; round++) {
      const tokens = await first.freshTokens()
      expect(await second.isActive(tokens.access_token)).toBe(true)
      expect((await first.walk.revoke(first.client, round % 2 ? tokens.access_token : tokens.refresh_token)).status).toBe(200)
      expect(await second.isActive(tokens.access_token)).toBe(false)
    }
  })

  test('After a simultaneous refresh and revocation on two nodes no token of the grant is valid, whichever was first', async () => {
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

  test('An access token signed with a new key of one node is active at the other', async () => {
    await rotateKey(keepingOf(first.grantor), 'sign')
    await first.grantor.noticeChanges()
    await second.grantor.noticeChanges()
    first.grantor.clock.advance(60)
    const { access_token } = await first.freshTokens()
    expect(await second.isActive(access_token)).toBe(true)
  })

  test('An access token whose key a node has not read yet is inactive there, until the node reads the key', async () => {
    await rotateKey(keepingOf(first.grantor), 'sign', 0)
    await first.grantor.noticeChanges()
    const { access_token } = await first.freshTokens()
    expect(await second.isActive(access_token)).toBe(false)
    await second.grantor.noticeChanges()
    expect(await second.isActive(access_token)).toBe(true)
  })
})
