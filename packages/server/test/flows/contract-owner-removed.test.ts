/** The owner of a contract wallet is replaced after a login: what the former owner allowed ends, and the new owner can sign in. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { type Connected, type HomeChain, startOnChain } from '../support/contract-login.ts'
import { expectRefusal } from '../support/refusals.ts'
import { receiptsOf } from '../support/signed-app.ts'
import type { TestClient } from '../support/start.ts'
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

/** The code that the present session gets, or '' if the browser is redirected to the login. */
async function nextCode({ walk }: Pick<Connected, 'walk'>, client = home.client): Promise<string> {
  const { location } = await walk.authorize(requestOf(client))
  return location.startsWith(home.grantor.loginUrl) ? '' : parameterOf(location, 'code')
}

describe('The first refresh after the removal of an owner', () => {
  test('The first refresh after the removal of the owner ends the grant: invalid_grant, and introspection is inactive at once', async () => {
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

  test('The grant stays ended if the owner is added again', async () => {
    const connected = await home.connect(wallet)
    await removeAlice()
    await connected.walk.refresh(home.client, connected.tokens.refresh_token)
    await home.chain.send(wallet.address, changeOwner(alice.address))
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.isActive(connected)).toBe(false)
  })

  test('An owner who was not removed can refresh, and each refresh calls each RPC once', async () => {
    const connected = await home.connect(wallet)
    const asked = await home.questions(async () => {
      const answer = await connected.walk.refresh(home.client, connected.tokens.refresh_token)
      expect(answer.status).toBe(200)
    })
    expect(asked).toEqual(['eth_call', 'eth_call'])
    expect(await home.grantOf(connected)).toMatchObject({ generation: 1, endedAt: null })
  })

  test('A wallet whose code is gone counts as a wallet whose owner was removed', async () => {
    const connected = await home.connect(wallet)
    await home.chain.setCode(wallet.address, '0x')
    expectRefusal(await connected.walk.refresh(home.client, connected.tokens.refresh_token), 'invalid_grant')
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
  })

  test('One RPC that reports the removal ends nothing: both must agree', async () => {
    const connected = await home.connect(wallet)
    home.beside.setFault('deny')
    expect((await connected.walk.refresh(home.client, connected.tokens.refresh_token)).status).toBe(200)
    expect(await home.grantOf(connected)).toMatchObject({ endedAt: null })
  })
})

describe('A code that was issued before the removal', () => {
  test('A code from before the removal is refused with invalid_grant, and creates no grant', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    await removeAlice()
    expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant')
    const grants = await home.grantor.store.grants.listGrants({ wallet: wallet.address as Address, limit: 5 })
    expect(grants).toEqual([])
  })

  test('A code that the session issued without a new signature is refused as well', async () => {
    const connected = await home.connect(wallet)
    const code = await nextCode(connected)
    expect(code).not.toBe('')
    await removeAlice()
    expectRefusal(await connected.walk.exchange(home.client, code), 'invalid_grant')
  })

  test('A code that was redeemed before the removal and is presented again ends its grant (RFC 6749 §4.1.2)', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    const tokens = (await attempt.walk.exchange(home.client, code)).json()
    await removeAlice()
    expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant')
    expect((await attempt.walk.introspect(home.client, tokens.access_token as string)).json()).toEqual({ active: false })
  })

  test('A code that is presented twice while no RPC responds ends its grant: a replay needs no chain', async () => {
    const attempt = await home.prove(wallet)
    const code = await home.finish(attempt)
    const tokens = (await attempt.walk.exchange(home.client, code)).json()
    home.setFaults('429')
    const asked = await home.questions(async () => expectRefusal(await attempt.walk.exchange(home.client, code), 'invalid_grant'))
    expect(asked).toEqual([])
    expect((await attempt.walk.introspect(home.client, tokens.access_token as string)).json()).toEqual({ active: false })
  })
})

describe('The session of a former owner, while a consent of the new owner is valid', () => {
  let strict: TestClient
  let former: Connected
  beforeEach(async () => {
    strict = await home.grantor.createClient({ consent: 'signed', scopes: ['enhancement'] })
    former = await home.connect(wallet, { client: strict })
    await removeAlice()
    // The new owner's consent is the youngest that covers the request.
    home.grantor.clock.advance(1)
    await home.connect(ofBob(), { client: strict })
  })

  test('The session of a former owner yields no tokens: the code is refused, and the session ends', async () => {
    const code = await nextCode(former, strict)
    expect(code).not.toBe('')
    expectRefusal(await former.walk.exchange(strict, code), 'invalid_grant')
    expect(await nextCode(former, strict)).toBe('')
    expect(await sessions()).toHaveLength(1)
  })

  test('The session of a former owner cannot refresh', async () => {
    expectRefusal(await former.walk.refresh(strict, former.tokens.refresh_token), 'invalid_grant')
  })

  test('The session of a former owner opens no account page and no receipt of the new owner, and ends no app', async () => {
    const ofNewOwner = (await receipts()).find(({ withdrawnAt }) => withdrawnAt === null)
    expect((await former.walk.postForm('/account/apps/end', { client_id: strict.id })).status).toBe(401)
    for (const path of ['/account', `/account/receipts/${ofNewOwner?.id}.json`])
      expect((await former.walk.browse({ path })).location).toContain('/login?login_challenge=')
    expect((await receipts()).filter(({ withdrawnAt }) => withdrawnAt === null)).toHaveLength(1)
  })
})

test('A grant whose consent another owner signed ends when the owner who signed in is removed', async () => {
  const strict = await home.grantor.createClient({ consent: 'signed', scopes: ['enhancement'] })
  // Bob consents; the session is Alice's, who signed in for another app.
  await removeAlice()
  await home.connect(ofBob(), { client: strict })
  await home.chain.send(wallet.address, changeOwner(alice.address))
  const { walk } = await home.connect(wallet)
  home.setFaults('429')
  const code = await nextCode({ walk }, strict)
  // While no RPC responds, the last successful check of each signature counts.
  const tokens = (await walk.exchange(strict, code)).json()
  home.setFaults(null)
  await removeAlice()
  expectRefusal(await walk.refresh(strict, tokens.refresh_token as string), 'invalid_grant')
  expect((await walk.browse({ path: '/account' })).location).toContain('/login?login_challenge=')
})

test("The account page is 503 and ends nothing while the wallet's signature cannot be checked", async () => {
  const { walk } = await home.connect(wallet)
  home.setFaults('429')
  expect((await walk.browse({ path: '/account' })).status).toBe(200)
  home.grantor.clock.advance(home.grantor.deps.settings.lifetimes.contractGrace)
  expect((await walk.browse({ path: '/account' })).status).toBe(503)
  expect(await sessions()).toHaveLength(1)
})

describe('The session and the consent of a signature that is no longer valid', () => {
  test("If the check of a contract wallet's signature fails, its session and its consent end: the app's next request leads to the login, not to a code that cannot be redeemed", async () => {
    const connected = await home.connect(wallet)
    await removeAlice()
    await connected.walk.exchange(home.client, await nextCode(connected))
    expect(await sessions()).toEqual([])
    expect(await receipts()).toMatchObject([{ withdrawnAt: home.grantor.clock.now() }])
    expect(await nextCode(connected)).toBe('')
    expect((await connected.walk.browse({ path: '/account' })).location).toContain('/login?login_challenge=')
  })

  test('The new owner signs in in the same browser and gets tokens', async () => {
    const before = await home.connect(wallet)
    await removeAlice()
    await before.walk.refresh(home.client, before.tokens.refresh_token)
    const after = await home.connect(ofBob(), { walk: before.walk })
    expect(await home.isActive(after)).toBe(true)
    expect(await home.isActive(before)).toBe(false)
  })

  test('If each app needs a signed consent, the consent of the former owner does not count for the new owner', async () => {
    const strict = await home.grantor.createClient({ consent: 'signed', scopes: ['enhancement'] })
    await home.connect(wallet, { client: strict })
    await removeAlice()
    // The new owner signs in for another app. The first app gets a code under the old consent, which is not redeemed.
    const { walk } = await home.connect(ofBob())
    const code = await nextCode({ walk }, strict)
    expect(code).not.toBe('')
    expectRefusal(await walk.exchange(strict, code), 'invalid_grant')
    // The next request needs the consent of the new owner.
    expect(await nextCode({ walk }, strict)).toBe('')
    const after = await home.connect(ofBob(), { walk, client: strict })
    expect((await walk.refresh(strict, after.tokens.refresh_token)).status).toBe(200)
  })

  test('Sessions and consents of owners who were not removed are not changed', async () => {
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
