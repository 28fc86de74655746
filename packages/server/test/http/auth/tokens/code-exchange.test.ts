import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../../../src/domain/consent/end-grants.ts'
import type { Grant } from '../../../../src/domain/model/records.ts'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { TestClient } from '../../../support/start.ts'

let app: App
let other: TestClient

beforeAll(async () => {
  app = await startApp()
  other = await app.grantor.createClient({ redirectUris: ['https://app.example.net/callback', 'https://app.example.net/other'] })
})
afterAll(() => app.close())

/** The newest grants in the store. */
async function grants(): Promise<Grant[]> {
  return app.grantor.store.grants.listGrants({ limit: 1000 })
}

async function grantOf(accessToken: string): Promise<Grant | null> {
  return app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
}

describe('The single use of a code (RFC 6749 §4.1.2)', () => {
  test('Issuing a code writes no grant; redeeming the code writes one valid grant', async () => {
    const before = await grants()
    const code = await app.freshCode()
    expect(await grants()).toEqual(before)
    const { access_token } = tokensOf(await app.walk.exchange(app.client, code))
    expect(await grants()).toHaveLength(before.length + 1)
    expect(await grantOf(access_token)).toMatchObject({
      clientId: app.client.id,
      generation: 0,
      endedAt: null,
      scopes: ['enhancement'],
    })
  })

  test('A code that is presented twice by its client is refused, and its grant and tokens are revoked (RFC 6749 §4.1.2)', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'code_replayed' })
    expect(app.grantor.events).toContainEqual(expect.objectContaining({ event: 'grant_ended', reason: 'code_replayed' }))
  })

  test('A code that is presented again after a refresh is refused, and the refreshed tokens are revoked too (RFC 6749 §4.1.2)', async () => {
    const code = await app.freshCode()
    const first = tokensOf(await app.walk.exchange(app.client, code))
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(second.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, second.refresh_token), 'invalid_grant')
  })

  test('Of 50 simultaneous exchanges of one code exactly one gets tokens, and the others revoke its grant (RFC 6749 §4.1.2)', async () => {
    const code = await app.freshCode()
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.walk.exchange(app.client, code)))
    const [winner, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 'invalid_grant')
    const tokens = tokensOf(winner ?? answers[0] ?? { json: () => ({}) })
    expect(await grantOf(tokens.access_token)).toMatchObject({ generation: 0, endReason: 'code_replayed' })
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(app.grantor.events.filter(({ grant_id }) => grant_id === claimsOf(tokens.access_token).grant_id)).toEqual([
      expect.objectContaining({ event: 'code_redeemed' }),
      expect.objectContaining({ event: 'grant_ended' }),
    ])
  })

  test('A used code that is presented again after its expiry is refused, and its grant stays valid', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    app.grantor.clock.advance(60)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
  })
})

describe('Stolen codes', () => {
  test('A code that another client presents is refused and changes nothing, before and after its redemption (RFC 6749 §4.1.3)', async () => {
    const code = await app.freshCode()
    const before = await grants()
    expectRefusal(await app.walk.exchange(other, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expectRefusal(await app.walk.exchange(other, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('A code that is presented with another redirect_uri, even a registered one, is refused and changes nothing (RFC 6749 §4.1.3)', async () => {
    const code = await app.freshCode({}, other)
    const astray = { ...other, redirectUris: ['https://app.example.net/other'] }
    const before = await grants()
    expectRefusal(await app.walk.exchange(astray, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
    const tokens = tokensOf(await app.walk.exchange(other, code))
    expectRefusal(await app.walk.exchange(astray, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token, other)).toBe(true)
  })

  test('A code that is presented without a client secret or with a wrong one is refused and can still be redeemed', async () => {
    const code = await app.freshCode()
    expectRefusal(await app.walk.exchange({ ...app.client, secret: '' }, code), 'invalid_client')
    expectRefusal(await app.walk.exchange({ ...app.client, secret: 'wrong' }, code), 'invalid_client')
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test.each(['~', 'A', '-', '.'])(
    'A code with one character changed to %j is refused, and the code itself can still be redeemed',
    async (character) => {
      const code = await app.freshCode()
      const before = await grants()
      for (let position = 0; position < code.length; position += 7) {
        if (code[position] === character) continue
        const forged = code.slice(0, position) + character + code.slice(position + 1)
        expectRefusal(await app.walk.exchange(app.client, forged), 'invalid_grant')
      }
      expect(await grants()).toEqual(before)
      expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    },
  )
})

describe('The lifetime of a code', () => {
  test('A code is accepted 59 seconds after it was issued', async () => {
    const code = await app.freshCode()
    app.grantor.clock.advance(59)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test('A code is refused 60 seconds after it was issued, and no grant is written', async () => {
    const code = await app.freshCode()
    const before = await grants()
    app.grantor.clock.advance(60)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
  })
})

describe('Changes between the issue of a code and its exchange', () => {
  test('A code is refused if the wallet’s grants at the client were ended after its issue, and no valid grant remains', async () => {
    const code = await app.freshCode()
    const [before] = [(await grants()).length]
    await endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], app.client.id, app.grantor.clock.now)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    const after = await grants()
    expect(after).toHaveLength(before + 1)
    expect(after.filter(({ clientId, endedAt }) => clientId === app.client.id && endedAt === null)).toEqual([])
    expect(after.filter(({ endReason }) => endReason === 'epoch_raised')).toHaveLength(1)
  })

  test('A code is refused if the wallet’s grants at another client were ended after its issue', async () => {
    const code = await app.freshCode()
    await endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], other.id, app.grantor.clock.now)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
  })

  test('After a code exchange that runs concurrently with the ending of the wallet’s grants, no valid grant remains', async () => {
    const wallet = app.walk.wallet.address as Grant['wallet']
    for (let round = 0; round < 10; round++) {
      const code = await app.freshCode()
      const [answer] = await Promise.all([
        app.walk.exchange(app.client, code),
        ...Array.from({ length: 3 }, () => endGrantsOfWallet(app.grantor.store, wallet, undefined, app.grantor.clock.now)),
      ])
      if (answer.status !== 200) expectRefusal(answer, 'invalid_grant')
      await endGrantsOfWallet(app.grantor.store, wallet, undefined, app.grantor.clock.now)
      expect((await grants()).filter(({ endedAt }) => endedAt === null)).toEqual([])
    }
  })

  test('A code of a disabled client is refused with 401, and accepted if the client is enabled again in time', async () => {
    const code = await app.freshCode()
    const before = await grants()
    await app.grantor.store.clients.replaceClient({ ...app.client, disabledAt: app.grantor.clock.now() })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_client')
    expect(await grants()).toEqual(before)
    await app.grantor.store.clients.replaceClient(app.client)
    await app.grantor.noticeChanges()
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test('A code whose scopes were all removed from the client gets invalid_scope, and can be redeemed once they are restored', async () => {
    const code = await app.freshCode({ scope: 'profile' })
    const before = await grants()
    await app.grantor.store.clients.replaceClient({ ...app.client, scopes: ['enhancement'] })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_scope')
    expect(await grants()).toEqual(before)
    await app.grantor.store.clients.replaceClient(app.client)
    await app.grantor.noticeChanges()
    expect(tokensOf(await app.walk.exchange(app.client, code)).scope).toBe('profile')
  })
})
