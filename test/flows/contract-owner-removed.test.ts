/** A contract wallet's owner is removed after the login: what they were given ends, and whoever owns the wallet now can sign in. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/wallet/address.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { expectRefusal } from '../support/refusals.ts'
import { receiptsOf } from '../support/signed-app.ts'
import { parameterOf, requestOf } from '../support/walk.ts'
import type { TestWallet } from '../support/wallet.ts'
import { changeOwner, owner } from '../support/wallet-contracts.ts'

const alice = owner('alice')
const bob = owner('bob')

let home: HomeChain
let wallet: TestWallet
beforeAll(async () => {
  home = await startOnChain()
})
beforeEach(async () => {
  home.setFaults(null)
  wallet = await home.changeableWalletOf(alice)
})
afterAll(() => home.close())

const removeAlice = () => home.chain.send(wallet.address, changeOwner(bob.address))
const ofBob = (): TestWallet => ({ ...wallet, sign: bob.sign })
const receipts = () => receiptsOf(home.grantor, wallet)
const sessions = () =>
  home.grantor.store.sessions.listSessions(wallet.address as Address, { at: home.grantor.clock.now(), limit: 10 })

/** A code for the session that is there; '' where the browser is sent to the login. */
async function nextCode({ walk }: Pick<Connected, 'walk'>, client = home.client): Promise<string> {
  const { location } = await walk.authorize(requestOf(client))
  return location.startsWith(home.grantor.loginUrl) ? '' : parameterOf(location, 'code')
}

describe('at the next refresh', () => {
  test('the grant ends: invalid_grant, and introspection says inactive at once', async () => {
    const connected = await home.connect(wallet)
    expect(await home.isActive(connected)).toBe(true)
    await removeAlice()
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.isActive(connected)).toBe(false)
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed', generation: 0 })
    expect(home.grantor.events).toContainEqual(
      expect.objectContaining({ event: 'grant_ended', reason: 'wallet_changed', grant_id: connected.grantId }),
    )
  })

  test('it stays ended when the owner comes back', async () => {
    const connected = await home.connect(wallet)
    await removeAlice()
    await connected.walk.refresh(home.client, connected.tokens.refresh_token)
    await home.chain.send(wallet.address, changeOwner(alice.address))
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.isActive(connected)).toBe(false)
  })

  test('an owner who is still there refreshes, each time asked of each RPC once', async () => {
    const connected = await home.connect(wallet)
    const asked = await home.questions(async () => {
      const answer = await connected.walk.refresh(home.client, connected.tokens.refresh_token)
      expect(answer.status).toBe(200)
    })
    expect(asked).toEqual(['eth_call', 'eth_call'])
    expect(await home.grantOf(connected)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('a wallet whose code is gone is one whose owner is gone', async () => {
    const connected = await home.connect(wallet)
    await home.chain.setCode(wallet.address, '0x')
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
  })

  test('one RPC that says the owner is gone ends nothing: both must say so', async () => {
    const connected = await home.connect(wallet)
    home.beside.setFault('deny')
    expect((await connected.walk.refresh(home.client, connected.tokens.refresh_token)).status).toBe(200)
    expect(await home.grantOf(connected)).toMatchObject({ endedAt: null })
  })
})

describe('a code issued before the removal', () => {
  test('is not redeemed: invalid_grant, and no grant is made', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    await removeAlice()
    expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant')
    const grants = await home.grantor.store.grants.listGrants({ wallet: wallet.address as Address, at: 0, limit: 5 })
    expect(grants).toEqual([])
  })

  test('neither is one that the session gave without a new signature', async () => {
    const connected = await home.connect(wallet)
    const code = await nextCode(connected)
    expect(code).not.toBe('')
    await removeAlice()
    expectRefusal(await connected.walk.exchange(home.client, code), 'invalid_grant')
  })

  test('redeemed before and presented again after, ends what it gave, as any code presented twice (RFC 6749 §4.1.2)', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    const tokens = (await attempt.walk.exchange(home.client, code)).json()
    await removeAlice()
    expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant')
    expect((await attempt.walk.introspect(home.client, tokens.access_token as string)).json()).toEqual({ active: false })
  })

  test('presented twice while no RPC answers, ends what it gave, too: a second use is no question to a chain', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    const tokens = (await attempt.walk.exchange(home.client, code)).json()
    home.setFaults('429')
    const asked = await home.questions(async () => expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant'))
    expect(asked).toEqual([])
    expect((await attempt.walk.introspect(home.client, tokens.access_token as string)).json()).toEqual({ active: false })
  })
})

describe('the session and the consent that rested on the signature', () => {
  test('go once it was found not to hold: the app’s next request leads to the login, not to a code that nobody redeems', async () => {
    const connected = await home.connect(wallet)
    await removeAlice()
    await connected.walk.exchange(home.client, await nextCode(connected))
    expect(await sessions()).toEqual([])
    expect(await receipts()).toMatchObject([{ withdrawnAt: home.grantor.clock.now() }])
    expect(await nextCode(connected)).toBe('')
    expect((await connected.walk.browse({ path: '/account' })).location).toContain('/login?login_challenge=')
  })

  test('the new owner signs in, in the same browser, and gets tokens', async () => {
    const before = await home.connect(wallet)
    await removeAlice()
    await before.walk.refresh(home.client, before.tokens.refresh_token)
    const after = await home.connect(ofBob(), { walk: before.walk })
    expect(await home.isActive(after)).toBe(true)
    expect(await home.isActive(before)).toBe(false)
  })

  test('where each app needs a signed consent, the former owner’s consent does not stand in for the new owner’s', async () => {
    const strict = await home.grantor.createClient({ consent: 'signed', scopes: ['enhancement'] })
    await home.connect(wallet, { client: strict })
    await removeAlice()
    // the new owner comes by another app; the first app finds the old consent, whose code is not redeemed
    const { walk } = await home.connect(ofBob())
    const code = await nextCode({ walk }, strict)
    expect(code).not.toBe('')
    expectRefusal(await walk.exchange(strict, code), 'invalid_grant')
    // from then on the new owner is asked
    expect(await nextCode({ walk }, strict)).toBe('')
    const after = await home.connect(ofBob(), { walk, client: strict })
    expect((await walk.refresh(strict, after.tokens.refresh_token)).status).toBe(200)
  })

  test('other sessions and consents of the wallet, of owners who are still there, are left alone', async () => {
    const former = await home.connect(wallet)
    await removeAlice()
    const present = await home.connect(ofBob())
    await former.walk.refresh(home.client, former.tokens.refresh_token)
    expect(await sessions()).toHaveLength(1)
    expect((await receipts()).filter(({ withdrawnAt }) => withdrawnAt === null)).toHaveLength(1)
    expect(await nextCode(present)).not.toBe('')
    expect((await present.walk.refresh(home.client, present.tokens.refresh_token)).status).toBe(200)
  })
})
