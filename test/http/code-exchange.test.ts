import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../src/domain/consent/end-grants.ts'
import type { Grant } from '../../src/domain/model/records.ts'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { expectRefusal } from '../support/refusals.ts'
import type { TestClient } from '../support/start.ts'

let app: App
let other: TestClient

beforeAll(async () => {
  app = await startApp()
  other = await app.grantor.createClient({ redirectUris: ['https://app.example.net/callback', 'https://app.example.net/other'] })
})
afterAll(() => app.close())

/** The ledger's newest rows, so that a test can say what an exchange left behind. */
async function grants(): Promise<Grant[]> {
  return app.grantor.store.grants.listGrants({ at: app.grantor.clock.now(), limit: 1000 })
}

async function grantOf(accessToken: string): Promise<Grant | null> {
  return app.grantor.store.grants.readGrant(claimsOf(accessToken).grant_id)
}

describe('a code yields tokens once (RFC 6749 §4.1.2)', () => {
  test('issuing a code writes nothing; redeeming it is one living grant', async () => {
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

  test('presented again by its own client, it is refused and the tokens it gave stop working', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await grantOf(tokens.access_token)).toMatchObject({ endReason: 'code_replayed' })
    expect(app.grantor.events).toContainEqual(expect.objectContaining({ event: 'grant_ended', reason: 'code_replayed' }))
  })

  test('presented again after a refresh, it still ends the grant, with the refreshed tokens', async () => {
    const code = await app.freshCode()
    const first = tokensOf(await app.walk.exchange(app.client, code))
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(second.access_token)).toBe(false)
    expectRefusal(await app.walk.refresh(app.client, second.refresh_token), 'invalid_grant')
  })

  test('of 50 simultaneous redemptions exactly one gets tokens; as the others were second uses, its grant is ended', async () => {
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

  test('a second use after the code has expired is refused and ends nothing: it can give nothing any more', async () => {
    const code = await app.freshCode()
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    app.grantor.clock.advance(60)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
  })
})

describe('a stranger with a stolen code changes nothing', () => {
  test('another client, before and after the redemption (RFC 6749 §4.1.3)', async () => {
    const code = await app.freshCode()
    const before = await grants()
    expectRefusal(await app.walk.exchange(other, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expectRefusal(await app.walk.exchange(other, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })

  test('another redirect URI, even one the client has registered, before and after the redemption (RFC 6749 §4.1.3)', async () => {
    const code = await app.freshCode({}, other)
    const astray = { ...other, redirectUris: ['https://app.example.net/other'] }
    const before = await grants()
    expectRefusal(await app.walk.exchange(astray, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
    const tokens = tokensOf(await app.walk.exchange(other, code))
    expectRefusal(await app.walk.exchange(astray, code), 'invalid_grant')
    expect(await app.isActive(tokens.access_token, other)).toBe(true)
  })

  test('without any credentials, or with a wrong secret', async () => {
    const code = await app.freshCode()
    expectRefusal(await app.walk.exchange({ ...app.client, secret: '' }, code), 'invalid_client')
    expectRefusal(await app.walk.exchange({ ...app.client, secret: 'wrong' }, code), 'invalid_client')
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test.each(['~', 'A', '-', '.'])('a code with one character changed, anywhere, to %j is unknown', async (character) => {
    const code = await app.freshCode()
    const before = await grants()
    for (let position = 0; position < code.length; position += 7) {
      if (code[position] === character) continue
      const forged = code.slice(0, position) + character + code.slice(position + 1)
      expectRefusal(await app.walk.exchange(app.client, forged), 'invalid_grant')
    }
    expect(await grants()).toEqual(before)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })
})

describe('a code lives 60 seconds', () => {
  test('at 59 it is taken', async () => {
    const code = await app.freshCode()
    app.grantor.clock.advance(59)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
  })

  test('at 60 it is refused, and no grant comes of it', async () => {
    const code = await app.freshCode()
    const before = await grants()
    app.grantor.clock.advance(60)
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect(await grants()).toEqual(before)
  })
})

describe('what happened between code and exchange counts', () => {
  test('the wallet ended something: the code is void, and no living grant remains', async () => {
    const code = await app.freshCode()
    const [before] = [(await grants()).length]
    await endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], app.client.id, app.grantor.clock.now())
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    const after = await grants()
    expect(after).toHaveLength(before + 1)
    expect(after.filter(({ clientId, endedAt }) => clientId === app.client.id && endedAt === null)).toEqual([])
    expect(after.filter(({ endReason }) => endReason === 'epoch_raised')).toHaveLength(1)
  })

  test('an ending of another app of the same wallet voids the code too: the epoch is the wallet’s', async () => {
    const code = await app.freshCode()
    await endGrantsOfWallet(app.grantor.store, app.walk.wallet.address as Grant['wallet'], other.id, app.grantor.clock.now())
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
  })

  test('an ending while the redemption is under way leaves no living grant, whichever is first', async () => {
    const wallet = app.walk.wallet.address as Grant['wallet']
    for (let round = 0; round < 10; round++) {
      const code = await app.freshCode()
      const [answer] = await Promise.all([
        app.walk.exchange(app.client, code),
        ...Array.from({ length: 3 }, () => endGrantsOfWallet(app.grantor.store, wallet, undefined, app.grantor.clock.now())),
      ])
      if (answer.status !== 200) expectRefusal(answer, 'invalid_grant')
      await endGrantsOfWallet(app.grantor.store, wallet, undefined, app.grantor.clock.now())
      expect((await grants()).filter(({ endedAt }) => endedAt === null)).toEqual([])
    }
  })

  test('the client was disabled: 401, the code unspent; enabled again in time, it is taken', async () => {
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

  test('the client lost every scope it was granted: invalid_scope, and the code is unspent', async () => {
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
