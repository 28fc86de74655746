/** A limit that a wallet signs for a device (RFC 8628), from the request of the device to what is left. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { grantIdOfReceipt } from '../../../../src/domain/model/grant-id.ts'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { claimsOf, type Tokens, tokensOf } from '../../../support/app.ts'
import {
  authorizedDevice,
  challengeOfDevice,
  createDeviceClient,
  type DeviceAuthorization,
  openDevicePage,
  poll,
} from '../../../support/device.ts'
import { API, type Chosen, type LimitApp, proveWith, startLimitApp, WEEKLY } from '../../../support/limits.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { startBeside, type TestClient } from '../../../support/start.ts'
import { movingTo, noticeOf, Walk } from '../../../support/walk.ts'

const CHOSEN = { uses: '2', each: '1', amount: '2' }
const LOWERED = { ...WEEKLY, uses: 2, each: 100, amount: 200 }

let app: LimitApp
let client: TestClient
beforeAll(async () => {
  app = await startLimitApp()
  client = await createDeviceClient(app.grantor, { resources: [API] })
})
afterAll(() => app.close())
beforeEach(() => app.register(WEEKLY))

const ask = (scope = 'enhancement'): Promise<DeviceAuthorization> => authorizedDevice(app.walk, client, { resource: API, scope })
const pollFor = (device: DeviceAuthorization) => poll(app.walk, client, device)
const grants = () => app.grantor.store.grants.listGrants({ wallet: app.walk.wallet.address as Address, limit: 100 })

/** The user signs these numbers for a device. Returns the path of the last page. */
async function sign(device: DeviceAuthorization, chosen?: Chosen): Promise<string> {
  return (await proveWith(app.walk, await challengeOfDevice(app.walk, device), chosen)).path
}

async function tokensFor(device: DeviceAuthorization, chosen?: Chosen): Promise<Tokens> {
  await app.walk.complete(await sign(device, chosen))
  return tokensOf(await pollFor(device))
}

const drawOne = async (token: string) => (await app.draw(token, { amount: '100' })).json()

describe('The signature for a device', () => {
  test('One signature creates one grant with the numbers that the user lowered, and the tokens of the device draw from it', async () => {
    const device = await ask()
    // The browser of the user has a session, which is no consent to a limit.
    const challenge = await challengeOfDevice(app.walk, device)
    expect((await app.walk.describe(challenge)).json().limit).toEqual({ scope: 'enhancement', resource: API, ...WEEKLY })
    const { path, message } = await proveWith(app.walk, challenge, CHOSEN)
    expect(readConsent(message)?.limit).toEqual({ resource: API, scope: 'enhancement', limit: LOWERED })
    expectRefusal(await pollFor(device), 'authorization_pending')
    await app.walk.complete(path)
    app.grantor.clock.advance(5)
    const tokens = tokensOf(await pollFor(device))
    const { grant_id: grantId } = claimsOf(tokens.access_token)
    const { signedLimit, receiptId } = (await app.grantor.store.grants.readGrant(grantId)) ?? {}
    expect(signedLimit).toMatchObject({ resource: API, scope: 'enhancement', limit: LOWERED })
    // A second code of this signature, issued in any way, would have the same grant.
    expect(grantId).toBe(grantIdOfReceipt(receiptId ?? '', signedLimit?.signedAt ?? 0))
    expect((await grants()).filter((grant) => grant.receiptId === receiptId)).toHaveLength(1)
    expect(await drawOne(tokens.access_token)).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
    const refreshed = tokensOf(await app.walk.refresh(client, tokens.refresh_token))
    expect(await drawOne(refreshed.access_token)).toMatchObject({ draw: 2, left: { uses: 0, amount: 0 } })
    expect(await drawOne(refreshed.access_token)).toMatchObject({ error: 'uses_exceeded' })
  })

  test('Numbers that are raised are refused, and the request of the device stays open', async () => {
    const device = await ask()
    const challenge = await challengeOfDevice(app.walk, device)
    const claim = { login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1 }
    const raised = await app.walk.loginApi('/login/message', { ...claim, limit: { uses: '21', each: '1', amount: '2' } })
    expect([raised.status, raised.json().error]).toEqual([400, 'limit_refused'])
    expectRefusal(await pollFor(device), 'authorization_pending')
  })

  test('Without the limited scope the device gets tokens for the rest, which draw nothing', async () => {
    const { access_token: token, scope } = await tokensFor(await ask('enhancement profile'), { uses: '0' })
    expect(scope).toBe('profile')
    expect(await drawOne(token)).toMatchObject({ error: 'no_limit' })
  })

  test('What was signed stays, if the operator removes the limit before the browser returns or before the device polls', async () => {
    const [first, second] = [await ask(), await ask()]
    const path = await sign(first, CHOSEN)
    await app.walk.complete(await sign(second, CHOSEN))
    await app.register(null)
    await app.walk.complete(path)
    for (const device of [first, second]) {
      const { access_token: token } = tokensOf(await pollFor(device))
      expect(await drawOne(token)).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
    }
  })
})

describe('No second counter', () => {
  test('A device code that is used again ends the grant, and nothing is drawn any more', async () => {
    const device = await ask()
    const { access_token: token } = await tokensFor(device, CHOSEN)
    await drawOne(token)
    const before = (await grants()).length
    app.grantor.clock.advance(5)
    expectRefusal(await pollFor(device), 'invalid_grant')
    expect(await grants()).toHaveLength(before)
    expect(await drawOne(token)).toMatchObject({ error: 'token_inactive' })
  })

  test('Of two polls at once, at two nodes, one gets tokens, and there is one grant', async () => {
    const device = await ask()
    await app.walk.complete(await sign(device, CHOSEN))
    const before = (await grants()).length
    const beside = await startBeside(app.grantor)
    onTestFinished(() => beside.close())
    const answers = await Promise.all([pollFor(device), poll(new Walk(beside), client, device)])
    expect(new Set(answers.map((answer) => answer.json().error))).toEqual(new Set([undefined, 'invalid_grant']))
    expect(await grants()).toHaveLength(before + 1)
  })

  test('One signature that returns several times, at once and with a copy of the browser, answers the device once', async () => {
    const device = await ask()
    const path = await sign(device, CHOSEN)
    const before = (await grants()).length
    const pages = await Promise.all([app.walk, app.walk.copy(), app.walk.copy()].map((walk) => walk.complete(path)))
    expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    const { access_token: token } = tokensOf(await pollFor(device))
    expect((await app.walk.complete(path)).status).toBe(409)
    expect(await grants()).toHaveLength(before + 1)
    expect(await drawOne(token)).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
  })

  test('A second signature for the same device is refused: the numbers that were signed first count', async () => {
    const device = await ask()
    const challenges = [await challengeOfDevice(app.walk, device), await challengeOfDevice(app.walk, device)] as const
    const low = await proveWith(app.walk, challenges[0], CHOSEN)
    const high = await proveWith(app.walk, challenges[1])
    await app.walk.complete(low.path)
    const late = await app.walk.complete(high.path)
    expect([late.status, noticeOf(late)]).toEqual([409, 'device_answered'])
    expect(noticeOf(await openDevicePage(app.walk, device.user_code))).toBe('device_answered')
    const { access_token: token } = tokensOf(await pollFor(device))
    expect((await app.left(token)).left).toMatchObject({ uses: 2, amount: 200 })
  })

  test('The signature for one device is none for a second device of the same user', async () => {
    const [first, second] = [await ask(), await ask()]
    const [signed, open] = [await challengeOfDevice(app.walk, first), await challengeOfDevice(app.walk, second)]
    const { path, message } = await proveWith(app.walk, signed, CHOSEN)
    const claim = { login_challenge: open, address: app.walk.wallet.address, chain_id: 1, limit: CHOSEN }
    const reused = await app.walk.loginApi('/login/accept', { ...claim, signature: app.walk.wallet.sign(message) })
    expect([reused.status, reused.json().error]).toEqual([401, 'not_proven'])
    const exchanged = path.replace(/login_challenge=[^&]+/, `login_challenge=${open}`)
    expect(movingTo(await app.walk.complete(exchanged))).toBe('')
    expectRefusal(await pollFor(second), 'authorization_pending')
  })

  test('Two devices of one user have a signature and a counter each, and the end of one leaves the other', async () => {
    const [phone, desk] = [await tokensFor(await ask(), CHOSEN), await tokensFor(await ask(), { ...CHOSEN, uses: '1' })]
    expect(await drawOne(desk.access_token)).toMatchObject({ draw: 1, left: { uses: 0, amount: 100 } })
    expect(await drawOne(phone.access_token)).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
    await app.walk.revoke(client, desk.refresh_token)
    expect(await drawOne(desk.access_token)).toMatchObject({ error: 'token_inactive' })
    expect(await drawOne(phone.access_token)).toMatchObject({ draw: 2, left: { uses: 0, amount: 0 } })
  })
})
